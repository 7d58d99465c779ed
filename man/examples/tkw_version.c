/* SPDX-License-Identifier: MIT */
/* Compares the version of the library with that of the headers. */
#include <stdio.h>
#include <string.h>
#include <tickwheel/version.h>

int main(void)
{
	if (strcmp(tkw_version(), TKW_VERSION) == 0)
		printf("the same\n");
	return 0;
}
