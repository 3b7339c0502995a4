import { subscribe } from "node:diagnostics_channel";
import { openSync, readSync } from "node:fs";
import { createHistogram, PerformanceObserver, type RecordableHistogram } from "node:perf_hooks";
import type { FastifyInstance } from "fastify";

/** Turns shorter than this are counted as they are: garbage collected in them changes nothing about the judgement. */
const LONG_MS = 2;
/** By then the observer has told of every collection. */
const TOLD_MS = 1000;
const WORST = 5;
const TICK_MS = 5;

interface Turn {
	/** Undefined for one that is not of a call. */
	route: string | undefined;
	began: number;
	ended: number;
	/** How long others had the core meanwhile, in milliseconds. */
	stoodInLine: number;
}

export interface LoopFigures {
	turns: number;
	p50Ms: number;
	p999Ms: number;
	maxMs: number;
	/** The longest time in which nobody at all had a turn, whatever was done in it: parsing counts too. */
	stallMs: number;
	/** The longest ones, and which call began them. */
	worst: { route: string; ms: number }[];
}

/**
 * Measures how long calls keep the event loop: from the end of parsing a body to the next turn, without the time that
 * garbage collection took, and without the time in which another program had the core. What other calls do in the same turn
 * counts too, parsing included, so that it errs on the strict side.
 */
export class LoopWatch {
	#histogram: RecordableHistogram = createHistogram();
	/** Calls whose turn is not over yet. */
	#current: { route: string; began: number; inLine: number }[] = [];
	#turns: Turn[] = [];
	#stallMs = 0;
	#worst: { route: string; ms: number }[] = [];
	#pauses: { began: number; ended: number }[] = [];
	#app: FastifyInstance | undefined;

	/** Whatever server this process starts from now on is watched: fastify tells of each as it is made. */
	constructor() {
		subscribe("fastify.initialization", (message) => {
			this.#app = (message as { fastify: FastifyInstance }).fastify;
			this.#app.addHook("preValidation", (request, _reply, done) => {
				if (this.#current.length === 0) setImmediate(() => this.#endTurn());
				const route = `${request.method} ${request.routeOptions.url ?? ""}`;
				this.#current.push({ route, began: performance.now(), inLine: msInLine() });
				done();
			});
		});
		new PerformanceObserver((list) => {
			for (const { startTime, duration } of list.getEntries())
				this.#pauses.push({ began: startTime, ended: startTime + duration });
		}).observe({ entryTypes: ["gc"] });
		setInterval(() => this.#settle(performance.now() - TOLD_MS), TOLD_MS).unref();
		this.#tick(performance.now(), msInLine());
	}

	#tick(began: number, inLine: number): void {
		setTimeout(() => {
			const ended = performance.now();
			const now = msInLine();
			if (ended - began >= TICK_MS + LONG_MS)
				this.#turns.push({ route: undefined, began: began + TICK_MS, ended, stoodInLine: now - inLine });
			this.#tick(ended, now);
		}, TICK_MS).unref();
	}

	/** Connections that are open now. */
	connections(): Promise<number> {
		return new Promise((resolve, reject) => {
			this.#app?.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
		});
	}

	/** What was measured since this was asked last. */
	figures(): LoopFigures {
		this.#settle(Number.POSITIVE_INFINITY);
		const histogram = this.#histogram;
		const figures = {
			turns: histogram.count,
			p50Ms: histogram.percentile(50) / 1000,
			p999Ms: histogram.percentile(99.9) / 1000,
			maxMs: histogram.max / 1000,
			stallMs: this.#stallMs,
			worst: this.#worst,
		};
		this.#histogram = createHistogram();
		this.#worst = [];
		this.#stallMs = 0;
		return figures;
	}

	#endTurn(): void {
		const ended = performance.now();
		const now = msInLine();
		for (const { route, began, inLine } of this.#current) {
			const stoodInLine = now - inLine;
			if (ended - began - stoodInLine < LONG_MS) this.#record(route, ended - began - stoodInLine);
			else this.#turns.push({ route, began, ended, stoodInLine });
		}
		this.#current = [];
	}

	#settle(until: number): void {
		const isTold = ({ ended }: { ended: number }) => ended < until;
		for (const turn of this.#turns.filter(isTold)) this.#record(turn.route, this.#ownMs(turn));
		this.#turns = this.#turns.filter((turn) => !isTold(turn));
		const oldest = Math.min(until, ...this.#turns.map(({ began }) => began));
		this.#pauses = this.#pauses.filter(({ ended }) => ended >= oldest);
	}

	/** Collecting garbage stands in line as all else does. */
	#ownMs(turn: Turn): number {
		const elapsed = turn.ended - turn.began;
		return (elapsed - this.#pausedIn(turn)) * Math.max(0, 1 - turn.stoodInLine / elapsed);
	}

	#pausedIn({ began, ended }: Turn): number {
		let ms = 0;
		for (const pause of this.#pauses) ms += Math.max(0, Math.min(ended, pause.ended) - Math.max(began, pause.began));
		return ms;
	}

	#record(route: string | undefined, ms: number): void {
		if (route === undefined) {
			this.#stallMs = Math.max(this.#stallMs, ms);
			return;
		}
		this.#histogram.record(Math.max(1, Math.round(ms * 1000)));
		if (ms < LONG_MS) return;
		this.#worst.push({ route, ms: Math.round(ms) });
		this.#worst.sort((a, b) => b.ms - a.ms).splice(WORST);
	}
}

/** How long this thread has stood in line for a core since it began, as far as the system tells: two cores have more to do. */
function msInLine(): number {
	if (schedule === undefined) return 0;
	const length = readSync(schedule, told, 0, told.length, 0);
	return Number(told.toString("latin1", 0, length).split(" ")[1]) / 1e6;
}

const told = Buffer.alloc(128);
const schedule = process.platform === "linux" ? openSync("/proc/thread-self/schedstat", "r") : undefined;
