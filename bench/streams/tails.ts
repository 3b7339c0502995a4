import { setTimeout as sleep } from "node:timers/promises";
import type { FlowFabric, Run } from "../../src/index.ts";

export const WRITERS = 20;
export const TAILS_EACH = 4;
const TOKENS_A_SECOND = 50;
const SECONDS = 10;
const TOKENS = TOKENS_A_SECOND * SECONDS;
/** Between two commands of somebody else. */
const PROBE_PAUSE_MS = 5;

/** What is measured on: here, or over HTTP. */
export interface TailsTarget {
	ff: FlowFabric;
	/** With frames in them, that the engine has made so far. */
	commits(): Promise<number>;
	close(): Promise<void>;
}

export interface TailFigures {
	/** Milliseconds from the handler's write to the tail that is shown it. */
	lags: number[];
	commitsPerToken: number;
	/** Milliseconds of other commands meanwhile, and of the same without streams. */
	beside: number[];
	alone: number[];
}

/** Handlers that write like models, four tails on each, and somebody who has nothing to do with it. */
export async function tokensToTails({ ff, commits }: TailsTarget): Promise<TailFigures> {
	const worker = ff.worker({ concurrency: WRITERS, handleSignals: false });
	worker.handle("writer", async ({ stream }) => {
		const startedAt = performance.now();
		for (let n = 0; n < TOKENS; n++) {
			await sleep(startedAt + (1000 * n) / TOKENS_A_SECOND - performance.now());
			await stream.write(`${n} ${performance.now()}`);
		}
	});
	await worker.start();
	const alone = await commandTimes(ff, sleep(1000 * SECONDS));
	const before = await commits();
	const lags: number[] = [];
	const runs = await Promise.all(Array.from({ length: WRITERS }, () => ff.submit("writer")));
	const tails = runs.flatMap((run) => Array.from({ length: TAILS_EACH }, () => follow(run, lags)));
	const beside = await commandTimes(ff, Promise.all(tails));
	const commitsPerToken = ((await commits()) - before) / (WRITERS * TOKENS);
	await worker.stop();
	return { lags, alone, beside, commitsPerToken };
}

/** Ends with the run; nothing is missing, doubled or out of order. */
async function follow(run: Run, lags: number[]): Promise<void> {
	let next = 0;
	for await (const { text = "", isNewAttempt } of run.tail()) {
		const [n, writtenAt] = text.split(" ").map(Number);
		if (n !== next || isNewAttempt) throw new Error(`token ${n} came where ${next} was expected`);
		next += 1;
		lags.push(performance.now() - (writtenAt ?? Number.NaN));
	}
	if (next !== TOKENS) throw new Error(`a tail was shown ${next} tokens of ${TOKENS}`);
}

/** Commands one after the other, as long as something else goes on. */
async function commandTimes({ backend }: FlowFabric, other: Promise<unknown>): Promise<number[]> {
	let isOver = false;
	const ended = other.finally(() => {
		isOver = true;
	});
	const times: number[] = [];
	const later = { kind: "other", delayMs: 86_400_000 };
	const { id } = await backend.executions.create(later);
	for (let n = 0; !isOver; n++) {
		const startedAt = performance.now();
		if (n % 2 === 0) await backend.executions.create(later);
		else await backend.executions.changePriority(id, { priority: 1 + (n % 4) });
		times.push(performance.now() - startedAt);
		await sleep(PROBE_PAUSE_MS);
	}
	await ended;
	return times;
}
