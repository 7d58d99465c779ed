/* SPDX-License-Identifier: MIT */
#include "tickwheel/version.h"

const char *tkw_version(void)
{
	return TKW_VERSION;
}
