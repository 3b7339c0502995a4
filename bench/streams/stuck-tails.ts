import { type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { SseReader } from "../../src/client/sse-reader.ts";
import { FlowFabric, type Run } from "../../src/index.ts";
import { Child } from "../http/child.ts";
import type { StreamsBench } from "./streams-bench.ts";

export const STUCK_TAILS = 8;
/** Long ones: what the operating system keeps for a reader must soon be full. */
const TEXT = "x".repeat(200);
const WARM_UP_MS = 3000;
/** Until what the operating system keeps for a reader is full, one that does not read looks like one that does. */
const FILL_MS = 10_000;

export interface StuckFigures {
	/** Frames a second: while tails do not read, and before and after that. */
	stuck: number;
	alone: number;
	/** Of the server, from before the tails came until they had not read for all that time. */
	liveGrowth: number;
	residentGrowth: number;
	/** Frames that a tail which reads on is still shown. */
	shownLater: number;
}

/** A handler that writes as fast as it may, over HTTP, while tails are open that nobody reads. */
export async function stuckTails({ place, partitions, stuckMs }: StreamsBench): Promise<StuckFigures> {
	const { url, leave } = await place();
	const server = await Child.start("child-server", [url, String(partitions)]);
	const ff = FlowFabric.connect(server.address);
	try {
		return await measure(ff, server, stuckMs);
	} finally {
		await ff.close();
		await server.stop();
		await leave();
	}
}

async function measure(ff: FlowFabric, server: Child, stuckMs: number): Promise<StuckFigures> {
	const writer = new Writer(ff);
	await writer.start();
	const { id } = await writer.begin();
	const before = await writer.rateDuring(stuckMs / 2);
	const usageBefore = await server.usageWithoutGarbage();
	const path = `${server.address}/v1/executions/${id}/attempts/0/stream/tail`;
	const [reading, ...others] = await Promise.all(Array.from({ length: STUCK_TAILS }, () => openUnread(path)));
	await sleep(FILL_MS);
	const stuck = await writer.rateDuring(stuckMs);
	const usage = await server.usageWithoutGarbage();
	for (const tail of others) tail.destroy();
	await writer.end();
	const shownLater = await readOn(reading as IncomingMessage);
	await writer.begin();
	const after = await writer.rateDuring(stuckMs / 2);
	await writer.end();
	await writer.stop();
	return {
		stuck,
		alone: (before + after) / 2,
		liveGrowth: usage.liveBytes - usageBefore.liveBytes,
		residentGrowth: usage.residentBytes - usageBefore.residentBytes,
		shownLater,
	};
}

/** Runs a handler that writes until it is told to end. */
class Writer {
	readonly #ff: FlowFabric;
	readonly #worker: ReturnType<FlowFabric["worker"]>;
	#run: Run | undefined;
	#written = 0;
	#isOver = false;

	constructor(ff: FlowFabric) {
		this.#ff = ff;
		this.#worker = ff.worker({ concurrency: 1, handleSignals: false });
		this.#worker.handle("writer", async ({ stream }) => {
			for (; !this.#isOver; this.#written++) await stream.write(`${this.#written} ${TEXT}`);
		});
	}

	start(): Promise<void> {
		return this.#worker.start();
	}

	/** After a warm-up. */
	async begin(): Promise<Run> {
		this.#isOver = false;
		this.#run = await this.#ff.submit("writer");
		await sleep(WARM_UP_MS);
		return this.#run;
	}

	/** Frames a second. */
	async rateDuring(ms: number): Promise<number> {
		const [from, startedAt] = [this.#written, performance.now()];
		await sleep(ms);
		return ((this.#written - from) * 1000) / (performance.now() - startedAt);
	}

	async end(): Promise<void> {
		this.#isOver = true;
		await this.#run?.result();
	}

	stop(): Promise<void> {
		return this.#worker.stop();
	}
}

/** A tail that is answered, and of which nothing is taken. */
function openUnread(url: string): Promise<IncomingMessage> {
	return new Promise((resolve, reject) => {
		const call = request(url, { headers: { accept: "text/event-stream" }, agent: false }, (response) => {
			response.pause();
			response.on("error", () => {});
			resolve(response);
		});
		call.on("error", reject);
		call.end();
	});
}

/** To the end. What was let go meanwhile is missing; nothing is doubled or out of order. */
async function readOn(tail: IncomingMessage): Promise<number> {
	let count = 0;
	let latest = -1;
	let isClosed = false;
	const reader = new SseReader(({ type, data }) => {
		if (type === "closed") isClosed = true;
		if (type !== "frame") return;
		const n = Number.parseInt((JSON.parse(data) as { text: string }).text, 10);
		if (n <= latest) throw new Error(`frame ${n} came behind ${latest}`);
		latest = n;
		count += 1;
	});
	for await (const chunk of tail) reader.push(chunk as Buffer);
	if (!isClosed) throw new Error("a tail that had not read for a while was not told of the end");
	return count;
}
