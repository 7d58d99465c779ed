# SPDX-License-Identifier: MIT
# plots.gp - one picture of the benchmark. plots.sh sets:
#   picture   which one: churn, fire, threads, memory, lateness or idle
#   svg       the file to write
#   data      a folder with PANEL.NAME files of "x median"
#   PANEL     for each panel of the picture, the entrants that have such a file
#   early_10us, early_1ms   who is left out of lateness, because it was early
#   cpus      how many the machine had; 0: that is not known
#
# A card of its own colour, so that it can be read on any page. The colours are
# told apart by the colour-blind; marks and dashes say it once more. Ours is the
# thick one.

c_tickwheel = '#d55e00'
c_netty_1ms = '#0072b2'
c_netty_100ms = '#56b4e9'
c_stpe = '#009e73'
c_go = '#cc79a7'
c_mutex_libuv = '#e69f00'
c_mutex_libev = '#8c6d00'
c_mutex_libevent = '#6a51a3'
c_timerfd = '#222222'
c_mutex_wheel = '#888888'
c_mutex_wheel_malloc = '#bbbbbb'

# Marks: filled for ours, Java and Go.
p_tickwheel = 7
p_netty_1ms = 5
p_netty_100ms = 9
p_stpe = 11
p_go = 13
p_mutex_libuv = 4
p_mutex_libev = 6
p_mutex_libevent = 8
p_timerfd = 2
p_mutex_wheel = 1
p_mutex_wheel_malloc = 3

colour(entrant) = value('c_' . entrant)
mark(entrant) = value('p_' . entrant)
ours(entrant) = entrant eq 'tickwheel'
width(entrant) = ours(entrant) ? 4 : 1.6
size_of(entrant) = ours(entrant) ? 0.9 : 0.7
# Solid where the timer is a wheel, dashed where it is a heap or the kernel's.
dash(entrant) = strstrt('tickwheel netty_1ms netty_100ms mutex_wheel_malloc', entrant) ? 1 : 2
file(panel, entrant) = data . '/' . panel . '.' . entrant

wide = picture eq 'lateness' || picture eq 'idle'
set terminal svg size (wide ? 1080 : 860), 500 dynamic enhanced \
	font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' \
	background '#fbfbf8' linewidth 1
set output svg
set encoding utf8
set border 3 linecolor rgb '#444444'
set tics nomirror out textcolor rgb '#222222'
set grid ytics linetype 1 linecolor rgb '#dcdcd6'
set title font ',16' textcolor rgb '#111111'
set xlabel textcolor rgb '#222222'
set ylabel textcolor rgb '#222222'
set key outside right center vertical reverse Left invert noenhanced \
	samplen 3 spacing 1.25 textcolor rgb '#222222'

if (picture eq 'churn') {
	set title 'Cancel one, schedule another, while N are pending (2 threads)'
	set xlabel 'timeouts pending'
	set ylabel 'ns per pair (wall time)'
	set logscale xy
	set format x '10^{%L}'
	set xrange [70:1.4e7]
	plot for [i in churn] file('churn', i) using 1:2 with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) title i
}

if (picture eq 'fire') {
	set title 'Each of N timeouts schedules itself again when it fires'
	set xlabel 'timeouts pending; 500,000 fire in a second (of 100: 50,000)'
	set ylabel 'ns per fire (processor time)'
	set logscale xy
	set format x '10^{%L}'
	set xrange [70:1.4e7]
	plot for [i in fire] file('fire', i) using 1:2 with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) title i
}

if (picture eq 'memory') {
	set title 'Memory of a pending timeout, while N are pending'
	set xlabel 'timeouts pending'
	set ylabel 'bytes per timeout'
	set logscale x
	set format x '10^{%L}'
	set xrange [700:1.4e7]
	set yrange [0:*]
	plot for [i in memory] file('memory', i) using 1:2 with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) title i
}

if (picture eq 'threads') {
	where = cpus == 0 ? '' : sprintf(', on %d CPU%s', cpus, cpus == 1 ? '' : 's')
	set title 'Cancel one, schedule another, from T threads on one timer' . where
	set xlabel 'threads'
	set ylabel 'ns per pair (wall time)'
	set logscale xy
	set xtics (1, 2, 4, 8, 16)
	set xrange [0.9:18]
	plot for [i in threads] file('threads', i) using 1:2 with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) title i
}

# On a logarithmic axis nothing lies at 0 or below: it is drawn at the edge.
least_us = 1
at_least(x) = x < least_us ? least_us : x
has(list, entrant) = strstrt(list . ' ', ' ' . entrant . ' ') > 0
left_out(list) = list eq '' ? '' : 'left out, early:' . list

if (picture eq 'lateness') {
	set multiplot
	set logscale y
	set xrange [0.6:8.4]
	set xtics ('10' 1, '25' 2, '50' 3, '75' 4, '90' 5, '99' 6, '99.9' 7, \
		'max' 8)
	set xlabel 'percent of the timeouts are not later'
	set format y '10^{%T}'
	set ylabel 'µs after the deadline (less than 1 drawn as 1)'
	# The same scale on both sides.
	most = 1000
	do for [i in lateness_10us] {
		stats file('lateness_10us', i) using 2 nooutput
		most = STATS_max > most ? STATS_max : most
	}
	do for [i in lateness_1ms] {
		stats file('lateness_1ms', i) using 2 nooutput
		most = STATS_max > most ? STATS_max : most
	}
	set yrange [least_us:most * 2]
	set tmargin at screen 0.88
	set bmargin at screen 0.22
	set title '1000 timeouts; the tick, if it can be set: 10 µs'
	set label 1 left_out(early_10us) at graph 0, screen 0.03 noenhanced
	set lmargin at screen 0.08
	set rmargin at screen 0.41
	unset key
	plot for [i in lateness_10us] file('lateness_10us', i) \
		using 1:(at_least($2)) with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) title i
	set title 'the same, 1 ms'
	unset ylabel
	set label 1 left_out(early_1ms) at graph 0, screen 0.03 noenhanced
	set lmargin at screen 0.48
	set rmargin at screen 0.81
	set key outside right center vertical reverse Left invert noenhanced \
		samplen 3 spacing 1.25 textcolor rgb '#222222'
	# The legend is for both sides.
	plot for [i in lateness_10us] NaN with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) \
		title (has(lateness_1ms, i) ? '' : i), \
		for [i in lateness_1ms] file('lateness_1ms', i) \
		using 1:(at_least($2)) with linespoints \
		linewidth width(i) linecolor rgb colour(i) dashtype dash(i) \
		pointtype mark(i) pointsize size_of(i) title i
	unset multiplot
}

# Bars from the left edge; what is 0 has none, and the number says so.
place(list, entrant) = int(sum [k = 1:words(list)] (word(list, k) eq entrant ? k : 0))
bar(entrant) = ours(entrant) ? colour(entrant) : '#8a9aa8'
ink(entrant) = ours(entrant) ? colour(entrant) : '#222222'
text(x, form) = x == 0 ? '0' : sprintf(form, x)
max(x, y) = x > y ? x : y

if (picture eq 'idle') {
	set multiplot
	unset key
	set logscale x
	set format x '10^{%T}'
	set grid noytics xtics linetype 1 linecolor rgb '#dcdcd6'
	set border 1
	set tmargin at screen 0.86
	set bmargin at screen 0.2
	set style fill solid noborder
	set label 1 'go: of the whole process; the others: of the timer alone' \
		at screen 0.5, screen 0.03 center
	do for [panel in 'idle_wakeups idle_cpu'] {
		list = value(panel)
		left = panel eq 'idle_wakeups'
		edge = left ? 0.5 : 0.001
		form = left ? '%.0f' : '%.3g'
		set lmargin at screen (left ? 0.15 : 0.62)
		set rmargin at screen (left ? 0.48 : 0.95)
		set xrange [edge:(left ? 1e5 : 1e4)]
		set yrange [0.4:words(list) + 0.6]
		set title (left ? 'Wake-ups in 10 s, one timeout an hour away' \
			: 'Processor time in these 10 s')
		set xlabel (left ? 'wake-ups' : 'ms')
		set ytics scale 0 noenhanced ('' 0)
		do for [i in list] {
			set ytics add (i place(list, i))
		}
		plot for [i in list] file(panel, i) \
			using (edge):(place(list, i)):(edge):(max($2, edge)): \
			(place(list, i) - 0.36):(place(list, i) + 0.36) \
			with boxxyerror linecolor rgb bar(i), \
			for [i in list] file(panel, i) \
			using (max($2, edge)):(place(list, i)):(text($2, form)) \
			with labels left offset 0.6,0 textcolor rgb ink(i)
		unset label 1
	}
	unset multiplot
}
