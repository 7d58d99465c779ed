# SPDX-License-Identifier: MIT
# wheel_inline.awk - writes tickwheel/wheel_inline.h: the preface, then wheel.h,
# then the sources of the wheel, in the order in which they need each other.
#
#     awk -f wheel_inline.awk PREFACE wheel.h SOURCE...
#
# The header is for people to read, too, so it keeps the comments and the layout.
# All functions become static. The sources cannot say so themselves, because the
# library exports the public ones and shares the private ones between its files.

# Of several empty lines, one is enough; the first line is not empty.
function put(line)
{
	if (line != "" || last != "")
		print line
	last = line
}

FNR == 1 {
	put("")
	if (++files == 3)
		put("/* --- private from here on ------------------------------------- */")
	else if (files > 3)
		put("/* -------------------------------------------------------------- */")
	put("")
}

# The preface has its own guard and includes.
files == 1 {
	put($0)
	next
}

/SPDX-License-Identifier/ || /^#include/ {
	next
}

/^#(ifndef|define) (TICKWHEEL|TKW)_[A-Z_]*_H$/ || /^#endif \/\* .*_H \*\/$/ {
	next
}

# extern "C" means nothing to a static function.
/^#ifdef __cplusplus$/ {
	skip = 1
}

skip {
	if (/^#endif/)
		skip = 0
	next
}

# On a line of its own, so that lines do not get too long.
/^(int|uint64_t|const char \*|struct tkw_entry \*) ?tkw_[a-z][a-z_]*\(/ {
	put("static inline")
}

/^(bool|void|uint64_t) tkw__[a-z0-9_]*\(/ {
	put("static")
}

{
	put($0)
}

END {
	# Ends what the preface has begun.
	put("")
	put("#ifdef __cplusplus")
	put("#pragma GCC diagnostic pop")
	put("#endif")
	put("")
	put("#endif /* TICKWHEEL_WHEEL_INLINE_H */")
}
