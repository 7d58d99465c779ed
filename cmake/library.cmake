# SPDX-License-Identifier: MIT
# The shared and the static libraries, and a narrow build for the tests.

set(tkw_sources
  src/base/version.c
  src/wheel/wheel.c
  src/wheel/hierarchical.c
  src/wheel/hashed.c
  src/wheel/check.c
  src/os/sync.c
  src/os/park.c
  src/os/clock.c
  src/os/alarm.c
  src/os/thread.c
  src/os/fork.c
  src/os/cpus.c
  src/os/random.c
  src/os/memory.c
  src/os/symbol.c
  src/os/id_table.c
  src/exec/inline.c
  src/exec/pool.c
  src/timer/slab.c
  src/timer/shard.c
  src/timer/create.c
  src/timer/start.c
  src/timer/schedule.c
  src/timer/cancel.c
  src/timer/reschedule.c
  src/timer/group.c
  src/timer/batch.c
  src/timer/sleep.c
  src/timer/turn.c
  src/timer/fire.c
  src/timer/jobs.c
  src/timer/drive.c
  src/timer/idle.c
  src/timer/stop.c
  src/timer/facts.c
  src/timer/text.c
  src/timer/stats.c
  src/timer/histogram.c
  src/timer/slow.c
  src/patterns/channel.c
  src/patterns/delayed.c
  src/patterns/delayed_set.c
  src/patterns/job.c
  src/patterns/job_facts.c
  src/patterns/job_run.c
  src/patterns/job_times.c
  src/patterns/lease.c
  src/patterns/repeat.c
  src/patterns/request.c
  src/patterns/retry.c
  src/patterns/watch.c)
# The Redis module needs these, too.
set(tkw_calendar_sources
  src/calendar/zone.c
  src/calendar/zone_file.c
  src/calendar/zone_rule.c
  src/calendar/plan_text.c
  src/calendar/cron.c
  src/calendar/every.c
  src/calendar/plan_search.c
  src/calendar/plan_words.c)
list(APPEND tkw_sources ${tkw_calendar_sources})
find_package(Threads REQUIRED)
set(tkw_map ${PROJECT_SOURCE_DIR}/src/tickwheel.map)

# The wheel must not call any other code, so it has no stack protector, which
# calls __stack_chk_fail(). The files that read the clock and fire timeouts have
# the weaker one: only functions with an array get a canary. See
# docs/internals/hardening.md.
if(TKW_HAVE_stack_protector_strong)
  set(tkw_bare ${tkw_sources})
  list(FILTER tkw_bare INCLUDE REGEX "^src/(base|wheel)/")
  set_source_files_properties(${tkw_bare} PROPERTIES
    COMPILE_OPTIONS -fno-stack-protector)
  set_source_files_properties(src/os/clock.c src/timer/turn.c src/timer/fire.c PROPERTIES
    COMPILE_OPTIONS -fstack-protector)
endif()

# The headers alone. wheel_inline.h needs no library.
add_library(tickwheel_headers INTERFACE)
add_library(tickwheel::headers ALIAS tickwheel_headers)
set_target_properties(tickwheel_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(tickwheel_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${tkw_generated}>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/adapters>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

function(tkw_library target kind)
  add_library(${target} ${kind} ${tkw_sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC tickwheel_headers Threads::Threads)
  tkw_flags(${target})
endfunction()

# Before 1.0 a minor version may break the API, so it is part of the soname.
set(tkw_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(tkw_soversion 0.${PROJECT_VERSION_MINOR})
endif()

tkw_library(tickwheel SHARED)
add_library(tickwheel::tickwheel ALIAS tickwheel)
set_target_properties(tickwheel PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${tkw_soversion}
  LINK_DEPENDS ${tkw_map})
# Nobody replaces our functions, so calls between them can be direct.
target_compile_options(tickwheel PRIVATE -fno-semantic-interposition)
# nodelete: the code must stay after dlclose(), because a worker may still run it.
# no-undefined-version: a name in the map that no source defines is an error.
target_link_options(tickwheel PRIVATE
  "LINKER:--version-script=${tkw_map}"
  LINKER:--no-undefined-version
  LINKER:-Bsymbolic-functions
  LINKER:-z,nodelete)

tkw_library(tickwheel_static STATIC)
add_library(tickwheel::static ALIAS tickwheel_static)
set_target_properties(tickwheel_static PROPERTIES
  OUTPUT_NAME tickwheel EXPORT_NAME static)

# The parts of the queue. Each is compiled once, for both libraries and for the
# tests, which link it with the tickwheel of their choice.
function(tkw_queue_part name)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_SOURCE_DIR}/src)
  # Large files, where this has to be asked for.
  target_compile_definitions(${name} PRIVATE _FILE_OFFSET_BITS=64)
  target_compile_options(${name} PRIVATE -fno-semantic-interposition)
  tkw_flags(${name})
endfunction()

# The heart, for the queue's homes.
tkw_queue_part(tickwheel_heart
  src/queue/advance.c
  src/queue/apply.c
  src/queue/audit.c
  src/queue/call.c
  src/queue/change.c
  src/queue/claim.c
  src/queue/index.c
  src/queue/item.c
  src/queue/lateness.c
  src/queue/line.c
  src/queue/look.c
  src/queue/plans.c
  src/queue/plans_apply.c
  src/queue/plans_change.c
  src/queue/plans_look.c
  src/queue/plans_next.c
  src/queue/put.c
  src/queue/record.c
  src/queue/take.c
  src/queue/treap.c
  src/queue/undo.c)

# What both homes share.
tkw_queue_part(tickwheel_home src/home/planner.c)

# The home inside a process, on any store.
tkw_queue_part(tickwheel_desk
  src/store/api.c
  src/store/api_async.c
  src/store/api_plans.c
  src/store/clerk.c
  src/store/clerk_plans.c
  src/store/desk.c
  src/store/desk_agenda.c
  src/store/desk_decide.c
  src/store/desk_replay.c
  src/store/desk_snapshot.c
  src/store/desk_takes.c
  src/store/desk_turn.c
  src/store/items.c
  src/store/keeper.c
  src/store/looks.c
  src/store/plan_copies.c
  src/store/plan_looks.c
  src/store/quiet_thread.c)

# What the home uses of src/os. libtickwheel.so does not export it, so the shared
# library has its own; with the static one, it comes from libtickwheel.a.
set(tkw_store_os_sources src/os/park.c)
set(tkw_queue_map ${PROJECT_SOURCE_DIR}/src/tickwheel-queue.map)

# tkw_queue_library(target kind wheel): the queue in a file. wheel is the
# libtickwheel to link.
function(tkw_queue_library target kind wheel)
  add_library(${target} ${kind} $<TARGET_OBJECTS:tickwheel_heart>
              $<TARGET_OBJECTS:tickwheel_home> $<TARGET_OBJECTS:tickwheel_desk>
              $<TARGET_OBJECTS:tickwheel_file>)
  target_link_libraries(${target} PUBLIC ${wheel} PRIVATE SQLite::SQLite3)
  tkw_flags(${target})
endfunction()

find_package(SQLite3 3.37 QUIET)
if(SQLite3_FOUND)
  # The store on SQLite, and what is beside a file. Only this part needs SQLite.
  tkw_queue_part(tickwheel_file
    src/store/beside.c
    src/store/conveyor.c
    src/store/crc32c.c
    src/store/feed.c
    src/store/kept.c
    src/store/lock.c
    src/store/open.c
    src/store/reserve.c
    src/store/row.c
    src/store/schema.c
    src/store/socket.c
    src/store/sqlite.c
    src/store/sqlite_check.c
    src/store/sqlite_open.c
    src/store/sqlite_replay.c
    src/store/wal.c)
  target_link_libraries(tickwheel_file PRIVATE SQLite::SQLite3)

  tkw_queue_library(tickwheel_queue SHARED tickwheel)
  add_library(tickwheel::queue ALIAS tickwheel_queue)
  target_sources(tickwheel_queue PRIVATE ${tkw_store_os_sources})
  target_include_directories(tickwheel_queue PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(tickwheel_queue PROPERTIES
    OUTPUT_NAME tickwheel-queue EXPORT_NAME queue
    BUILD_WITH_INSTALL_RPATH ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${tkw_soversion}
    LINK_DEPENDS ${tkw_queue_map})
  target_link_options(tickwheel_queue PRIVATE
    "LINKER:--version-script=${tkw_queue_map}"
    LINKER:--no-undefined-version
    LINKER:-Bsymbolic-functions
    LINKER:-z,nodelete)

  tkw_queue_library(tickwheel_queue_static STATIC tickwheel_static)
  add_library(tickwheel::queue_static ALIAS tickwheel_queue_static)
  set_target_properties(tickwheel_queue_static PROPERTIES
    OUTPUT_NAME tickwheel-queue EXPORT_NAME queue_static)
else()
  message(STATUS "no SQLite 3.37 or later (Debian: libsqlite3-dev): "
                 "libtickwheel-queue is left out")
endif()

# The home inside Redis and Valkey, as a part, so that the tests can add to it.
tkw_queue_part(tickwheel_redis
  src/redis/apply_command.c
  src/redis/args.c
  src/redis/burial.c
  src/redis/change_commands.c
  src/redis/claim_commands.c
  src/redis/documents.c
  src/redis/look_commands.c
  src/redis/module.c
  src/redis/plan_commands.c
  src/redis/put_commands.c
  src/redis/reply.c
  src/redis/server.c
  src/redis/settings.c
  src/redis/take_command.c
  src/redis/type.c
  src/redis/visit.c
  src/redis/waiters.c)

# tkw_redis_module(target [SOURCE...]): a module for a server. It brings its own
# heart, wheel and calendar, and links with nothing but libc.
function(tkw_redis_module target)
  list(TRANSFORM tkw_calendar_sources PREPEND ${PROJECT_SOURCE_DIR}/
       OUTPUT_VARIABLE calendar)
  add_library(${target} MODULE $<TARGET_OBJECTS:tickwheel_redis>
              $<TARGET_OBJECTS:tickwheel_heart>
              $<TARGET_OBJECTS:tickwheel_home> ${calendar}
              ${PROJECT_SOURCE_DIR}/src/wheel/wheel.c
              ${PROJECT_SOURCE_DIR}/src/wheel/check.c
              ${PROJECT_SOURCE_DIR}/src/wheel/hierarchical.c
              ${PROJECT_SOURCE_DIR}/src/wheel/hashed.c ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  set_target_properties(${target} PROPERTIES PREFIX ""
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/tickwheel-redis.map)
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/tickwheel-redis.map"
    LINKER:-z,nodelete)
  # Whatever is missing would be noticed when a server loads the module. The
  # instrumented code of clang finds its parts in the program.
  if(NOT TKW_SANITIZE AND NOT TKW_BUILD_FUZZ)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  tkw_flags(${target})
endfunction()

tkw_redis_module(tkw_redis)
set_target_properties(tkw_redis PROPERTIES OUTPUT_NAME tickwheel)

# Most tests are built with the library as shipped and with a narrow one.
set(tkw_builds static)
if(TKW_TEST_NARROW)
  list(APPEND tkw_builds narrow)
endif()
if(TKW_BUILD_TESTS OR TKW_BUILD_FUZZ)
  # Rings of 16 slots, blocks of 64 timeouts and 15 generations, so that the
  # tests reach every boundary often. It has no fence for all threads, like an old
  # system.
  tkw_library(tickwheel_narrow STATIC)
  target_compile_definitions(tickwheel_narrow PUBLIC
    TKW__RING_BITS=4 TKW__BLOCK_BITS=6 TKW__GENERATION_BITS=4
    TKW__RECORD_BLOCK_BITS=6 TKW__RECORD_GENERATION_BITS=4
    TKW__NO_FENCE_ALL)
endif()
