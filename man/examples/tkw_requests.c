/* SPDX-License-Identifier: MIT */
/*
 * Sends two requests. One of them is answered, and the other one times
 * out.
 */
#include <errno.h>
#include <stdio.h>
#include <tickwheel/request.h>

int main(void)
{
	struct tkw_requests_config cfg = { .size = sizeof(cfg) };
	struct tkw_request_id get, put;
	struct tkw_request_end end;
	struct tkw_requests *rs;

	if (tkw_timer_create(&cfg.timer, NULL) != 0 ||
	    tkw_requests_create(&rs, &cfg) != 0 ||
	    tkw_requests_add(rs, NULL, NULL, 60 * TKW_SEC, &get) != 0 ||
	    tkw_requests_add(rs, NULL, NULL, 20 * TKW_MSEC, &put) != 0)
		return 1;
	/* Usually the thread that reads the socket does this. */
	if (tkw_requests_complete(rs, get, "42") != 0)
		return 1;
	if (tkw_requests_wait(rs, get, &end) == 0 && end.status == 0)
		printf("get: %s\n", (const char *)end.response);
	if (tkw_requests_wait(rs, put, &end) == 0 &&
	    end.status == -ETIMEDOUT)
		printf("put: timed out\n");
	return tkw_requests_destroy(rs) != 0 ||
	       tkw_timer_destroy(cfg.timer) != 0;
}
