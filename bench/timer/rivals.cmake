# SPDX-License-Identifier: MIT
# The rivals of tkw_bench that are not in C: Netty, the JDK, and Go. This file
# sets these variables, to "" if the rival was not found:
#   TKW_BENCH_JAVA       the java program
#   TKW_BENCH_CLASSPATH  TimerRival and Netty, for java -cp
#   TKW_BENCH_GO         the Go rival
set(TKW_BENCH_JAVA "" CACHE INTERNAL "")
set(TKW_BENCH_CLASSPATH "" CACHE INTERNAL "")
set(TKW_BENCH_GO "" CACHE INTERNAL "")

find_program(TKW_JAVA java)
find_program(TKW_JAVAC javac)
find_program(TKW_GO go)
find_file(TKW_NETTY_JAR netty-common.jar
  PATHS /usr/share/java /usr/local/share/java)
mark_as_advanced(TKW_JAVA TKW_JAVAC TKW_GO TKW_NETTY_JAR)

if(TKW_JAVA AND TKW_JAVAC AND TKW_NETTY_JAR)
  set(classes ${CMAKE_CURRENT_BINARY_DIR}/java)
  set(source ${CMAKE_CURRENT_LIST_DIR}/TimerRival.java)
  add_custom_command(OUTPUT ${classes}/TimerRival.class
    COMMAND ${CMAKE_COMMAND} -E make_directory ${classes}
    COMMAND ${TKW_JAVAC} -Xlint:all -encoding UTF-8 -cp ${TKW_NETTY_JAR}
      -d ${classes} ${source}
    DEPENDS ${source} ${TKW_NETTY_JAR}
    COMMENT "Compiling TimerRival.java"
    VERBATIM)
  add_custom_target(tkw_bench_java ALL DEPENDS ${classes}/TimerRival.class)
  set(TKW_BENCH_JAVA ${TKW_JAVA} CACHE INTERNAL "")
  set(TKW_BENCH_CLASSPATH ${classes}:${TKW_NETTY_JAR} CACHE INTERNAL "")
  message(STATUS "bench: with netty and stpe")
else()
  message(STATUS "bench: without netty and stpe, which were not found")
endif()

if(TKW_GO)
  set(binary ${CMAKE_CURRENT_BINARY_DIR}/tkw_bench_go)
  set(source ${CMAKE_CURRENT_LIST_DIR}/timer_rival.go)
  # Go must write only to the build directory.
  add_custom_command(OUTPUT ${binary}
    COMMAND ${CMAKE_COMMAND} -E env
      HOME=${CMAKE_CURRENT_BINARY_DIR}/go
      GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go/cache
      GOPATH=${CMAKE_CURRENT_BINARY_DIR}/go/path
      GO111MODULE=off GOFLAGS= CGO_ENABLED=0
      ${TKW_GO} build -o ${binary} ${source}
    DEPENDS ${source}
    COMMENT "Compiling timer_rival.go"
    VERBATIM)
  add_custom_target(tkw_bench_go_rival ALL DEPENDS ${binary})
  set(TKW_BENCH_GO ${binary} CACHE INTERNAL "")
  message(STATUS "bench: with go")
else()
  message(STATUS "bench: without go, which was not found")
endif()
