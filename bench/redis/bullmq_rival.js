// SPDX-License-Identifier: MIT
// bullmq_rival.js FOLDER - BullMQ as its users run it: a Queue that adds jobs,
// and a Worker that processes them. FOLDER has BullMQ in its node_modules.
//
// It reads a line for each thing to do, and answers with a line when it has done
// it: `ok`, maybe with figures, or `error` with a reason. redis_bench.h
// describes what is to be done (struct redis_worker). tkw_bench_redis reads the
// clock, and has started the server.
//
// BullMQ has no call that takes several jobs. A Worker has a concurrency
// instead: so many jobs may be processed at the same time. A job is removed when
// it is completed. Its data is a JSON text of 100 bytes.
'use strict';

const { createRequire } = require('node:module');
const readline = require('node:readline');

const requireThere = createRequire(`${process.argv[2]}/`);
const { Queue, Worker } = requireThere('bullmq');
const { Redis } = requireThere('ioredis');

const PAYLOAD = 100;
const POOL = 65536;
const FAR_MS = 3600000;
const [NOW, FAR] = [0, 1]; // enum redis_due

// --- payloads ----------------------------------------------------------------

// Random letters, because the server compresses what it saves.
const pool = (() => {
	const letters =
		'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
	let state = 1;
	let text = '';

	for (let i = 0; i < POOL; i++) {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		text += letters[state >>> 26];
	}
	return text;
})();

// The quotes are two of its bytes.
function payload(number) {
	const head = `${number}.`;
	const at = (number * 7919) % (POOL - PAYLOAD);

	return head + pool.slice(at, at + PAYLOAD - 2 - head.length);
}

function numberOf(data) {
	const number = parseInt(data, 10);

	if (data !== payload(number))
		throw new Error('a payload is not what was put');
	return number;
}

// --- what is open ------------------------------------------------------------

let connection;
let queue;
let worker;
let onJob;

const jobOptions = { removeOnComplete: true, removeOnFail: true };

async function open({ port }) {
	connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
	queue = new Queue('q', { connection, defaultJobOptions: jobOptions });
	worker = new Worker('q', async (job) => onJob(job),
		{ connection, autorun: false });
	await queue.waitUntilReady();
	await worker.waitUntilReady();
}

async function close() {
	await worker.close(true);
	await queue.close();
}

// --- putting -----------------------------------------------------------------

// The options of the i-th job.
function when(p, i) {
	const now = Date.now();

	if (p.due === NOW)
		return {};
	if (p.due === FAR)
		return { delay: FAR_MS + Math.floor(Math.random() * FAR_MS) };
	return { timestamp: now, delay: Math.max(dueOf(p, i) - now, 0) };
}

function dueOf(p, i) {
	return p.begin + (p.rate > 0 ? Math.floor((i * 1000) / p.rate) : 0);
}

async function put(p) {
	for (let done = 0; done < p.n; done += p.each) {
		const n = Math.min(p.each, p.n - done);

		if (p.call) {
			const jobs = [];
			for (let i = done; i < done + n; i++)
				jobs.push({ name: 'j', data: payload(p.first + i),
					opts: when(p, i) });
			await queue.addBulk(jobs);
		} else if (n === 1) {
			await queue.add('j', payload(p.first + done), when(p, done));
		} else {
			const adds = [];
			for (let i = done; i < done + n; i++)
				adds.push(queue.add('j', payload(p.first + i),
					when(p, i)));
			await Promise.all(adds);
		}
	}
}

// A connection for each queue would be counted too.
async function tiny({ first, queues, items }) {
	const far = { due: FAR };
	const shared = new Redis(connection);

	for (let i = first; i < first + queues; i++) {
		const one = new Queue(`t${i}`, { connection: shared,
			defaultJobOptions: jobOptions });
		const jobs = [];

		for (let k = 0; k < Math.max(items, 1); k++)
			jobs.push({ name: 'j', data: payload(k), opts: when(far, k) });
		const added = await one.addBulk(jobs);
		if (items === 0)
			await added[0].remove();
		await one.close();
	}
	shared.disconnect();
}

// --- taking ------------------------------------------------------------------

// Runs the worker until n jobs are completed. job() is called for each of them.
function work(n, concurrency, job) {
	return new Promise((resolve, reject) => {
		let left = n;

		onJob = job;
		worker.concurrency = concurrency;
		worker.on('completed', () => {
			left -= 1;
			if (left === 0)
				resolve();
		});
		worker.on('failed', (_, error) => reject(error));
		worker.on('error', reject);
		worker.run().catch(reject);
	});
}

async function take({ n, each }) {
	const seen = new Uint8Array(n);

	await work(n, each, (job) => {
		const number = numberOf(job.data);

		if (number >= n || seen[number])
			throw new Error('a job was taken twice, or never put');
		seen[number] = 1;
	});
}

// The worker waits for the next job when it is added.
async function cycle({ n }) {
	const done = work(n, 1, (job) => numberOf(job.data));
	let next;

	worker.on('completed', () => next());
	for (let i = 0; i < n; i++) {
		const completed = new Promise((resolve) => {
			next = resolve;
		});
		await queue.add('j', payload(i));
		await completed;
	}
	await done;
}

// Returns how far the wall clock, in microseconds, is ahead of hrtime. Date.now()
// counts milliseconds, so it waits for the next one. It may lose its CPU
// meanwhile, so the largest of several results is the right one.
function wallOffset() {
	let offset = -Infinity;

	for (let i = 0; i < 5; i++) {
		const before = Date.now();
		let ms = before;

		while (ms === before)
			ms = Date.now();
		offset = Math.max(offset, ms * 1000 - hrtimeUs());
	}
	return offset;
}

function hrtimeUs() {
	return Number(process.hrtime.bigint()) / 1000;
}

async function late(p) {
	const lateUs = new Float64Array(p.n).fill(NaN);
	const offset = wallOffset();
	const now = () => hrtimeUs() + offset;
	let timer;

	const gaveUp = new Promise((resolve) => {
		timer = setTimeout(resolve, p.give_up - Date.now());
	});
	const done = work(p.n, p.each, (job) => {
		const number = numberOf(job.data);

		if (number >= p.n)
			throw new Error('a job was taken an hour early');
		lateUs[number] = now() - dueOf(p, number) * 1000;
	});
	await Promise.race([done, gaveUp]);
	clearTimeout(timer);
	for (let i = 0; i < p.n; i++) {
		if (Number.isNaN(lateUs[i]))
			lateUs[i] = now() - dueOf(p, i) * 1000;
	}
	lateUs.sort();
	const quantile = (share) => lateUs[Math.ceil(share * p.n) - 1];
	return { p50: quantile(0.5), p99: quantile(0.99), max: lateUs[p.n - 1],
		early: lateUs.filter((us) => us < 0).length };
}

// --- lines -------------------------------------------------------------------

const kinds = { open, close, put, take, cycle, tiny, late };

async function answer(line) {
	const [kind, ...pairs] = line.split(' ');
	const numbers = {};

	for (const pair of pairs) {
		const [key, value] = pair.split('=');
		numbers[key] = Number(value);
	}
	try {
		const figures = await kinds[kind](numbers) ?? {};
		const texts = Object.entries(figures).map(
			([key, value]) => ` ${key}=${value.toFixed(3)}`);

		return `ok${texts.join('')}`;
	} catch (error) {
		return `error ${String(error.message).split('\n')[0].slice(0, 200)}`;
	}
}

async function main() {
	for await (const line of readline.createInterface({ input: process.stdin }))
		process.stdout.write(`${await answer(line)}\n`);
	process.exit(0);
}

main();
