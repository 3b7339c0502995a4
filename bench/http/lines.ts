import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FlowFabric } from "../../src/index.ts";
import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { readRepeatedly } from "../scenarios/http-get.ts";
import { lifecycle } from "../scenarios/lifecycle.ts";
import { openTarget, payload, type StoreName } from "../target.ts";
import { Child } from "./child.ts";

export interface HttpBench {
	store: StoreName;
	partitions: number;
	rounds: number;
	size: number;
	progress(text: string): void;
}

/** Lifecycles through a server in another process, beside the same in one process on the same kind of store. */
export async function httpLifecycleLine(bench: HttpBench): Promise<Line> {
	const { store, partitions, rounds, size } = bench;
	const over: number[] = [];
	const within: number[] = [];
	const cpu: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const [figure, micros] = await withServer(bench, async (server, ff) => {
			const before = await server.cpuMicros();
			const perSecond = await lifecycle({ ff }, size);
			return [perSecond, ((await server.cpuMicros()) - before) / size] as const;
		});
		const target = await openTarget(store, partitions);
		const limit = await lifecycle(target, size);
		await target.close();
		if (round === 0) continue;
		over.push(figure);
		within.push(limit);
		cpu.push(micros);
		bench.progress(`  round ${round}: ${figure.toFixed(0)} of ${limit.toFixed(0)}`);
	}
	const figure = median(over);
	const limit = median(within);
	const against = { name: "in process", figure: limit, ratio: figure / limit, wanted: "≥ 0.4" };
	return {
		scenario: "lifecycle over HTTP",
		store,
		partitions,
		figure,
		unit: "lifecycles/s",
		against,
		cpuMicros: median(cpu),
	};
}

/** Reading an execution, beside a bare route of the same framework that answers the same bytes. */
export async function httpGetLine(bench: HttpBench): Promise<Line> {
	const { store, partitions, rounds, size } = bench;
	const ours: number[] = [];
	const bares: number[] = [];
	await withServer(bench, async (server, ff) => {
		const { id } = await ff.submit("noop", payload(1));
		const path = `/v1/executions/${id}`;
		const bare = await Child.start("child-bare", [JSON.stringify(await ff.get(id))]);
		for (let round = 0; round <= rounds; round++) {
			const figure = await readRepeatedly(server.address, path, size);
			const limit = await readRepeatedly(bare.address, path, size);
			if (round === 0) continue;
			ours.push(figure);
			bares.push(limit);
			bench.progress(`  round ${round}: ${figure.toFixed(0)} of ${limit.toFixed(0)}`);
		}
		await bare.stop();
	});
	const figure = median(ours);
	const limit = median(bares);
	const against = { name: "bare route", figure: limit, ratio: figure / limit, wanted: "≥ 0.5" };
	return { scenario: "GET an execution", store, partitions, figure, unit: "answers/s", against };
}

const CLAIMS = 200;
const READERS = 100;
const IDLE_MS = 20_000;

/** What a server uses while many wait for work and for events and nothing happens: share of one core. */
export async function httpIdleLine(bench: HttpBench): Promise<Line> {
	const { store, partitions } = bench;
	const share = await withServer(bench, async (server, ff) => {
		const { id } = await ff.submit("noop", payload(1), { delayMs: 3_600_000 });
		const waiting = new AbortController();
		const claims = Array.from({ length: CLAIMS }, (_, n) => keepClaiming(ff, n, waiting.signal));
		const readers = Array.from({ length: READERS }, () => followEvents(`${server.address}/v1/executions/${id}/events`));
		const stops = await Promise.all(readers);
		await sleep(2000);
		const before = await server.cpuMicros();
		const startedAt = performance.now();
		await sleep(IDLE_MS);
		const used = ((await server.cpuMicros()) - before) / 1000 / (performance.now() - startedAt);
		const woken = await wakesOne(ff);
		waiting.abort();
		for (const stop of stops) stop();
		await Promise.allSettled(claims);
		if (!woken) throw new Error("a submit woke nobody");
		return used;
	});
	const against = { name: "one core", figure: 100, ratio: share, wanted: "≤ 0.05" };
	return {
		scenario: `idle: ${CLAIMS} claims, ${READERS} readers`,
		store,
		partitions,
		figure: 100 * share,
		unit: "% of a core",
		against,
	};
}

async function keepClaiming(ff: FlowFabric, n: number, signal: AbortSignal): Promise<void> {
	while (!signal.aborted) {
		const request = { kinds: ["wake"], workerId: "idle", instanceId: `idle-${n}`, waitMs: 30_000 };
		for (const { id, lease } of await ff.backend.leases.claim(request, signal)) {
			await ff.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
		}
	}
}

function followEvents(url: string): Promise<() => void> {
	return new Promise((resolve, reject) => {
		const call = request(url, { headers: { accept: "text/event-stream" } }, (response) => {
			response.resume();
			response.on("error", () => {});
			resolve(() => call.destroy());
		});
		call.on("error", reject);
		call.end();
	});
}

async function wakesOne(ff: FlowFabric): Promise<boolean> {
	const run = await ff.submit("wake");
	return (await run.wait({ timeoutMs: 10_000 })).publicState === "completed";
}

async function withServer<T>(
	{ store, partitions }: HttpBench,
	use: (server: Child, ff: FlowFabric) => Promise<T>,
): Promise<T> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-bench-"));
	const url = store === "sqlite" ? `sqlite:${join(folder, "server.db")}` : "memory:";
	const server = await Child.start("child-server", [url, String(partitions)]);
	const ff = FlowFabric.connect(server.address);
	try {
		return await use(server, ff);
	} finally {
		await ff.close();
		await server.stop();
		await rm(folder, { recursive: true });
	}
}
