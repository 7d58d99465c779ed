/* SPDX-License-Identifier: MIT */
/*
 * queue_client.c - the way to a queue through the socket of the process that
 * has its file open. store/wire.h describes what is spoken.
 *
 * There are up to two connections: one for calls, and one for a take that waits
 * while other calls are made.
 */
#define _GNU_SOURCE /* struct ucred */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "queue_client.h"
#include "queue_tool.h"
#include "store/address.h"
#include "store/wire.h"

enum {
	PATIENCE_S = 5,
	FOREVER = -1
};

struct queue_way {
	struct tkw__address address;
	int fd;      /* for calls */
	int take_fd; /* for take_begin(), or -1 */
	int wait_ms; /* how long to wait for an answer, or FOREVER */
	/* The frame that is sent, and the one that was received. */
	struct tkw__wire_out out;
	uint8_t *answer;
	char queue[TKW_QUEUE_MAX_NAME + 1];
};

/* --- frames -------------------------------------------------------------- */

/* A broken connection is no error yet: the last word of the owner may wait to
 * be read. */
static void send_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

static int receive_all(const struct queue_way *w, int fd, uint8_t *bytes,
		       size_t len)
{
	while (len > 0) {
		int r = tool_signals_wait_answer(fd, w->wait_ms);
		ssize_t n;

		if (r)
			return r == -EINTR ? r : -ECONNRESET;
		n = recv(fd, bytes, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECONNRESET;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

struct tkw__wire_out *queue_client_ask(struct queue_way *w,
				       enum tkw__wire_call call)
{
	tkw__wire_begin(&w->out);
	tkw__wire_put_u8(&w->out, (uint8_t)call);
	tkw__wire_put_name(&w->out, w->queue);
	return &w->out;
}

/* Ends the request and sends it. */
static int send_request(struct queue_way *w, int fd)
{
	if (!tkw__wire_end(&w->out))
		return -ENOMEM;
	if (w->out.len - TKW__WIRE_HEAD > TKW__WIRE_MAX_REQUEST)
		return -E2BIG;
	send_all(fd, w->out.bytes, w->out.len);
	return 0;
}

/*
 * Receives an answer.
 *
 * in  Receives what follows the result. It is valid until the next answer.
 *
 * Returns the result.
 */
static int64_t receive(struct queue_way *w, int fd, struct tkw__wire_in *in)
{
	uint8_t head[TKW__WIRE_HEAD];
	uint32_t len;
	int64_t result = receive_all(w, fd, head, sizeof(head));

	if (result < 0)
		return result;
	len = tkw__wire_length(head);
	free(w->answer);
	w->answer = calloc(1, (size_t)len + 1);
	if (!w->answer)
		return -ENOMEM;
	result = receive_all(w, fd, w->answer, len);
	if (result < 0)
		return result;
	*in = (struct tkw__wire_in){ w->answer, len, false };
	result = tkw__wire_get_i64(in);
	return in->bad ? -EPROTO : result;
}

int64_t queue_client_exchange(struct queue_way *w, struct tkw__wire_in *in)
{
	int r = send_request(w, w->fd);

	return r ? r : receive(w, w->fd, in);
}

int64_t queue_client_exchange_result(struct queue_way *w)
{
	struct tkw__wire_in in;
	int64_t r = queue_client_exchange(w, &in);

	if (r >= 0 && !tkw__wire_is_done(&in))
		return -EPROTO;
	return r;
}

/* --- the connection ------------------------------------------------------ */

/* The owner must be this user, or the user who owns the file. Anybody may have
 * made a socket in a folder like /tmp. */
static bool is_trusted(int fd, const char *file)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct stat st;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	return peer.uid == geteuid() ||
	       (!stat(file, &st) && peer.uid == st.st_uid);
}

/* An owner that is suspended accepts no connection. 0 seconds mean for ever. */
static void set_patience(int fd, time_t seconds)
{
	const struct timeval t = { .tv_sec = seconds };

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* Receives an answer that an owner gives at once, unless it is suspended. */
static int64_t receive_soon(struct queue_way *w, int fd,
			    struct tkw__wire_in *in)
{
	int64_t r;

	w->wait_ms = PATIENCE_S * 1000;
	r = receive(w, fd, in);
	w->wait_ms = FOREVER;
	return r;
}

static int64_t hello(struct queue_way *w, int fd, struct tkw__wire_in *in)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_HELLO);
	int r;

	tkw__wire_put_u32(o, TKW__WIRE_VERSION);
	r = send_request(w, fd);
	return r ? r : receive_soon(w, fd, in);
}

/* Returns a descriptor, or -errno. */
static int connect_to(struct queue_way *w, const char *file)
{
	struct tkw__wire_in in;
	int64_t r;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	set_patience(fd, PATIENCE_S);
	if (connect(fd, (const struct sockaddr *)&w->address.un,
		    sizeof(w->address.un)))
		r = -errno;
	else if (file && !is_trusted(fd, file))
		r = -EACCES;
	else
		r = hello(w, fd, &in);
	if (r >= 0) {
		set_patience(fd, 0);
		return fd;
	}
	(void)close(fd);
	return (int)r;
}

static int64_t find(struct queue_way *w, const struct queue_place *place)
{
	struct tkw__wire_out *o;

	if (!place->queue)
		return 0;
	if (strlen(place->queue) >= sizeof(w->queue))
		return -EINVAL;
	(void)snprintf(w->queue, sizeof(w->queue), "%s", place->queue);
	o = queue_client_ask(w, TKW__WIRE_FIND);
	tkw__wire_put_u8(o, place->make);
	return queue_client_exchange_result(w);
}

static void close_way(struct queue_way *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	if (w->take_fd >= 0)
		(void)close(w->take_fd);
	tkw__address_free(&w->address);
	tkw__wire_free(&w->out);
	free(w->answer);
	free(w);
}

static int start(struct queue_way *w, const struct queue_place *place,
		 char *why)
{
	/* One file can have many names. The socket is beside the real one. */
	char *file = realpath(place->file, NULL);
	int64_t r;

	if (!file)
		return errno == ENOENT ? -EBUSY : -errno;
	r = tkw__address_make(&w->address, file);
	free(file);
	if (r)
		return (int)r;
	w->fd = connect_to(w, place->file);
	if (w->fd < 0) {
		/* It is just opening or closing the file, or has crashed. */
		if (w->fd == -ENOENT || w->fd == -ECONNREFUSED ||
		    w->fd == -ESHUTDOWN || w->fd == -ECONNRESET ||
		    w->fd == -EAGAIN)
			return -EBUSY;
		if (w->fd == -EACCES)
			(void)snprintf(why, QUEUE_WHY,
				       "its socket belongs to another user");
		if (w->fd == -EPROTONOSUPPORT)
			(void)snprintf(why, QUEUE_WHY,
				       "the process that has it open is of "
				       "another version of tickwheel");
		return w->fd;
	}
	r = find(w, place);
	if (r == -ENOENT)
		(void)snprintf(why, QUEUE_WHY, "no queue '%s'", place->queue);
	return r == -ESHUTDOWN || r == -ECONNRESET ? -EBUSY : (int)r;
}

static int open_way(struct queue_way **out, const struct queue_place *place,
		    char *why)
{
	struct queue_way *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->fd = -1;
	w->take_fd = -1;
	w->wait_ms = FOREVER;
	w->address.folder = -1;
	r = start(w, place, why);
	if (r) {
		close_way(w);
		return r;
	}
	*out = w;
	return 0;
}

static int choose(struct queue_way *w, const char *queue)
{
	struct queue_place place = { .queue = queue };

	return (int)find(w, &place);
}

static int next(struct queue_way *w, char name[TKW_QUEUE_MAX_NAME + 1])
{
	struct tkw__wire_in in;
	char asked[TKW_QUEUE_MAX_NAME + 1];
	int64_t r;

	memcpy(asked, w->queue, sizeof(asked));
	(void)snprintf(w->queue, sizeof(w->queue), "%s", name);
	(void)queue_client_ask(w, TKW__WIRE_NEXT);
	memcpy(w->queue, asked, sizeof(asked));
	r = queue_client_exchange(w, &in);
	if (r > 0)
		tkw__wire_get_name(&in, name);
	return r >= 0 && !tkw__wire_is_done(&in) ? -EPROTO : (int)r;
}

/* --- items --------------------------------------------------------------- */

static void free_items(struct tkw_items *list)
{
	free(list);
}

/* Returns how many bytes the texts of the items have, with a 0 after each. */
static size_t count_bytes(struct tkw__wire_in in, size_t count)
{
	struct tkw_item item;
	size_t reason_len, bytes = 0;

	for (size_t i = 0; i < count; i++) {
		tkw__wire_get_item(&in, &item, &reason_len);
		bytes += item.payload_len + item.key_len + reason_len + 3;
	}
	return bytes;
}

const char *queue_client_keep_text(char **room, const void *at, size_t len)
{
	char *copy = *room;

	if (len > 0)
		memcpy(copy, at, len);
	copy[len] = '\0';
	*room += len + 1;
	return copy;
}

/* Copies the items out of the answer, into one piece of memory. */
static int64_t keep_items(struct tkw__wire_in *in, int64_t count,
			  struct queue_items *out)
{
	struct tkw_items *list;
	struct tkw_item *item;
	size_t n = (size_t)count, reason_len;
	char *room;

	out->list = NULL;
	out->free = free_items;
	if (n > in->left)
		return -EPROTO;
	if (n == 0)
		return tkw__wire_is_done(in) ? 0 : -EPROTO;
	list = malloc(sizeof(*list) + n * sizeof(*item) + count_bytes(*in, n));
	if (!list)
		return -ENOMEM;
	item = (struct tkw_item *)(list + 1);
	list->count = n;
	list->item = item;
	room = (char *)(item + n);
	for (; item < list->item + n; item++) {
		tkw__wire_get_item(in, item, &reason_len);
		item->payload = queue_client_keep_text(&room, item->payload,
						       item->payload_len);
		if (item->key)
			item->key = queue_client_keep_text(&room, item->key,
							   item->key_len);
		item->reason =
			queue_client_keep_text(&room, item->reason, reason_len);
	}
	if (!tkw__wire_is_done(in)) {
		free(list);
		return -EPROTO;
	}
	out->list = list;
	return count;
}

static void ask_take(struct queue_way *w, const struct tkw_take *how)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_TAKE);

	tkw__wire_put_u32(o, how->max_items);
	tkw__wire_put_i64(o, how->lease_ms);
	tkw__wire_put_i64(o, how->wait_ms);
}

static int take(struct queue_way *w, const struct tkw_take *how,
		struct queue_items *out)
{
	struct tkw__wire_in in;
	int64_t r;

	ask_take(w, how);
	r = queue_client_exchange(w, &in);
	return (int)(r < 0 ? r : keep_items(&in, r, out));
}

static int take_begin(struct queue_way *w, const struct tkw_take *how)
{
	struct tkw_take endless = *how;
	int r;

	endless.wait_ms = INT64_MAX;

	if (w->take_fd < 0) {
		w->take_fd = connect_to(w, NULL);
		if (w->take_fd == -ENOENT || w->take_fd == -ECONNREFUSED ||
		    w->take_fd == -EAGAIN)
			return -ESHUTDOWN;
		if (w->take_fd < 0)
			return w->take_fd;
	}
	ask_take(w, &endless);
	r = send_request(w, w->take_fd);
	return r ? r : w->take_fd;
}

static int take_end(struct queue_way *w, struct queue_items *out)
{
	struct tkw__wire_in in;
	int64_t r = receive(w, w->take_fd, &in);

	return (int)(r < 0 ? r : keep_items(&in, r, out));
}

/* The owner gives up the take when it sees the end of what we send. If it has
 * answered before that, the answer is there to be read. */
static int take_cancel(struct queue_way *w, struct queue_items *out)
{
	struct tkw__wire_in in;
	int64_t r;

	out->list = NULL;
	if (w->take_fd < 0)
		return 0;
	(void)shutdown(w->take_fd, SHUT_WR);
	r = receive_soon(w, w->take_fd, &in);
	if (r > 0)
		r = keep_items(&in, r, out);
	(void)close(w->take_fd);
	w->take_fd = -1;
	return r > 0 ? (int)r : 0;
}

static void put_name(struct tkw__wire_out *o, const struct tkw_item_name *name)
{
	tkw__wire_put_u64(o, name->id.bits);
	tkw__wire_put_option(o, name->key, name->key_len);
}

static int get(struct queue_way *w, const struct tkw_item_name *name,
	       struct queue_items *out)
{
	struct tkw__wire_in in;
	int64_t r;

	put_name(queue_client_ask(w, TKW__WIRE_GET), name);
	r = queue_client_exchange(w, &in);
	if (r >= 0)
		r = keep_items(&in, 1, out);
	return r > 0 ? 0 : (int)r;
}

static int list_piece(struct queue_way *w, struct queue_piece *piece,
		      struct queue_items *out)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_LIST);
	struct tkw__wire_in in;
	uint64_t cursor;
	int64_t r;

	tkw__wire_put_u8(o, (uint8_t)piece->state);
	tkw__wire_put_u32(o, piece->max);
	tkw__wire_put_u64(o, piece->cursor);
	r = queue_client_exchange(w, &in);
	if (r < 0)
		return (int)r;
	cursor = tkw__wire_get_u64(&in);
	r = keep_items(&in, r, out);
	if (r >= 0)
		piece->cursor = cursor;
	return (int)r;
}

/* --- calls with an answer for each item ---------------------------------- */

static int put(struct queue_way *w, const struct tkw_put *puts, size_t count,
	       struct tkw_item_id *ids)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_PUT);
	struct tkw__wire_in in;
	int64_t r;

	tkw__wire_put_u32(o, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		const struct tkw_put *p = &puts[i];

		tkw__wire_put_text(o, p->payload, p->payload_len);
		tkw__wire_put_i64(o, p->delay_ms);
		tkw__wire_put_i64(o, p->due_ms);
		tkw__wire_put_option(o, p->key, p->key_len);
		tkw__wire_put_u8(o, (uint8_t)p->held);
		tkw__wire_put_u32(o, p->max_attempts);
		tkw__wire_put_u32(o, p->backoff_ms);
		tkw__wire_put_u32(o, p->max_backoff_ms);
	}
	r = queue_client_exchange(w, &in);
	if (r < 0)
		return (int)r;
	for (size_t i = 0; i < count; i++)
		ids[i].bits = tkw__wire_get_u64(&in);
	return tkw__wire_is_done(&in) ? 0 : -EPROTO;
}

/* Exchanges the request and reads `done`. */
static int exchange_done(struct queue_way *w, size_t count, int *done)
{
	struct tkw__wire_in in;
	int64_t r = queue_client_exchange(w, &in);

	if (r < 0)
		return (int)r;
	for (size_t i = 0; i < count; i++)
		done[i] = (int)tkw__wire_get_u32(&in);
	return tkw__wire_is_done(&in) ? (int)r : -EPROTO;
}

static void put_claims(struct tkw__wire_out *o, const struct tkw_claim *claims,
		       size_t count)
{
	tkw__wire_put_u32(o, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		tkw__wire_put_u64(o, claims[i].id.bits);
		tkw__wire_put_u64(o, claims[i].token);
	}
}

static int ack(struct queue_way *w, const struct tkw_claim *claims,
	       size_t count, int *done)
{
	put_claims(queue_client_ask(w, TKW__WIRE_ACK), claims, count);
	return exchange_done(w, count, done);
}

static int nack(struct queue_way *w, const struct tkw_claim *claims,
		size_t count, const struct tkw_nack *how, int *done)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_NACK);
	const char *reason = how->reason ? how->reason : "";

	tkw__wire_put_u8(o, how->has_delay != 0);
	tkw__wire_put_i64(o, how->delay_ms);
	tkw__wire_put_text(o, reason, strlen(reason));
	put_claims(o, claims, count);
	return exchange_done(w, count, done);
}

static int extend(struct queue_way *w, const struct tkw_claim *claims,
		  size_t count, int64_t lease_ms, int *done)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_EXTEND);

	tkw__wire_put_i64(o, lease_ms);
	put_claims(o, claims, count);
	return exchange_done(w, count, done);
}

static int cancel(struct queue_way *w, const struct tkw_item_name *names,
		  size_t count, int *done)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_CANCEL);

	tkw__wire_put_u32(o, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_name(o, &names[i]);
	return exchange_done(w, count, done);
}

static int reschedule(struct queue_way *w, const struct tkw_item_name *name,
		      int64_t delay_ms, int64_t due_ms)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_RESCHEDULE);

	put_name(o, name);
	tkw__wire_put_i64(o, delay_ms);
	tkw__wire_put_i64(o, due_ms);
	return (int)queue_client_exchange_result(w);
}

static void put_ids(struct tkw__wire_out *o, const struct tkw_item_id *ids,
		    size_t count)
{
	tkw__wire_put_u32(o, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		tkw__wire_put_u64(o, ids[i].bits);
}

static int revive(struct queue_way *w, const struct tkw_item_id *ids,
		  size_t count, int *done)
{
	put_ids(queue_client_ask(w, TKW__WIRE_REVIVE), ids, count);
	return exchange_done(w, count, done);
}

static int purge(struct queue_way *w, const struct tkw_item_id *ids,
		 size_t count, int *done)
{
	put_ids(queue_client_ask(w, TKW__WIRE_PURGE), ids, count);
	return exchange_done(w, count, done);
}

/* --- calls about the queue ----------------------------------------------- */

static int64_t revive_all(struct queue_way *w)
{
	(void)queue_client_ask(w, TKW__WIRE_REVIVE_ALL);
	return queue_client_exchange_result(w);
}

static int64_t purge_all(struct queue_way *w)
{
	(void)queue_client_ask(w, TKW__WIRE_PURGE_ALL);
	return queue_client_exchange_result(w);
}

static int pause_queue(struct queue_way *w)
{
	(void)queue_client_ask(w, TKW__WIRE_PAUSE);
	return (int)queue_client_exchange_result(w);
}

static int resume(struct queue_way *w)
{
	(void)queue_client_ask(w, TKW__WIRE_RESUME);
	return (int)queue_client_exchange_result(w);
}

static int limit(struct queue_way *w, const struct tkw_queue_limits *limits)
{
	struct tkw__wire_out *o = queue_client_ask(w, TKW__WIRE_LIMIT);

	tkw__wire_put_u64(o, limits->max_items);
	tkw__wire_put_u64(o, limits->max_bytes);
	tkw__wire_put_u64(o, limits->max_payload_bytes);
	return (int)queue_client_exchange_result(w);
}

static int get_stats(struct queue_way *w, struct tkw_queue_stats *out)
{
	struct tkw__wire_in in;
	int64_t r;

	(void)queue_client_ask(w, TKW__WIRE_STATS);
	r = queue_client_exchange(w, &in);
	if (r < 0)
		return (int)r;
	tkw__wire_get_stats(&in, out);
	return tkw__wire_is_done(&in) ? 0 : -EPROTO;
}

const struct queue_ops queue_client = {
	.open = open_way,
	.close = close_way,
	.choose = choose,
	.next = next,
	.put = put,
	.take = take,
	.ack = ack,
	.nack = nack,
	.extend = extend,
	.cancel = cancel,
	.reschedule = reschedule,
	.get = get,
	.list = list_piece,
	.revive = revive,
	.purge = purge,
	.revive_all = revive_all,
	.purge_all = purge_all,
	.pause = pause_queue,
	.resume = resume,
	.limit = limit,
	.get_stats = get_stats,
	.plan = queue_client_plan,
	.unplan = queue_client_unplan,
	.pause_plan = queue_client_pause_plan,
	.resume_plan = queue_client_resume_plan,
	.get_plan = queue_client_get_plan,
	.list_plans = queue_client_list_plans,
	.take_begin = take_begin,
	.take_end = take_end,
	.take_cancel = take_cancel,
};
