import { parseArgs } from "node:util";
import { Queue, Worker } from "bullmq";
import { Redis } from "iovalkey";
import type { Backend } from "../src/contract/backend.ts";
import { Engine } from "../src/engine/engine.ts";
import { LocalBackend } from "../src/engine/local-backend.ts";
import { FORMAT, indexOf, migrate } from "../src/kernel/format.ts";
import { openValkeyStore } from "../src/store/valkey/open.ts";
import { startValkey } from "../test/servers/valkey-server.ts";

/**
 * Whole lifecycles (submit, claim, complete) on one private server, FlowFabric and BullMQ in turn. Only the ratio within
 * one run means anything: the machine decides the rest. Both use the same driver, in the same process. Run it built
 * (`node scripts/prepare.mjs --tools && node .build/bench/spike-valkey.js [--json]`): loaders that keep the names of
 * functions slow FlowFabric down by a fifth, and BullMQ, which comes built, not at all.
 */
const { values: flags } = parseArgs({
	options: {
		json: { type: "boolean", default: false },
		rounds: { type: "string", default: "5" },
		count: { type: "string", default: "5000" },
		partitions: { type: "string", default: "8" },
		only: { type: "string" },
	},
});
const ROUNDS = Number(flags.rounds);
const COUNT = Number(flags.count);
const SUBMITTERS = 64;
const CONCURRENCY = 16;
/** About 200 bytes as JSON. */
const PAYLOAD = { url: "https://example.org/page", text: "x".repeat(150) };

interface Peer {
	name: string;
	/** Runs so many lifecycles from the first submit to the last completion. */
	run(count: number): Promise<void>;
	unitsPerCommit?(): number;
	close(): Promise<void>;
}

interface Figures {
	perSecond: number;
	serverMicros: number;
	clientMicros: number;
	bytes: number;
	unitsPerCommit?: number;
}

/** Calls `submit` so many times, from many callers at once. */
async function submitAll(count: number, submit: () => Promise<unknown>): Promise<void> {
	let left = count;
	const caller = async () => {
		while (left > 0) {
			left -= 1;
			await submit();
		}
	};
	await Promise.all(Array.from({ length: SUBMITTERS }, caller));
}

/** A worker's loop: claims as many as it has free slots, waits when there is no work or no slot. */
async function workOff(backend: Backend, count: number): Promise<void> {
	let free = CONCURRENCY;
	let done = 0;
	let slotFreed = () => {};
	const handle = async (id: string, fence: { leaseId: string; epoch: number }) => {
		await backend.leases.complete(id, { fence, result: { ok: true } });
		free += 1;
		done += 1;
		slotFreed();
	};
	const aborter = new AbortController();
	while (done < count) {
		if (free === 0) {
			await new Promise<void>((resolve) => (slotFreed = resolve));
			continue;
		}
		slotFreed = () => done === count && aborter.abort();
		const request = { workerId: "bench", instanceId: "bench", max: free, waitMs: 30_000 };
		for (const { id, lease } of await backend.leases.claim(request, aborter.signal)) {
			free -= 1;
			void handle(id, { leaseId: lease.id, epoch: lease.epoch });
		}
	}
}

async function flowFabric(url: string): Promise<Peer> {
	const store = await openValkeyStore(url, {
		partitions: Number(flags.partitions),
		format: { format: FORMAT, migrate, indexOf },
	});
	const engine = new Engine({ store });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "bench", retentionMs: 86_400_000 });
	let before = { units: 0, commits: 0 };
	return {
		name: "FlowFabric",
		async run(count) {
			before = { ...engine.counters };
			const submitted = submitAll(count, () => backend.executions.create({ kind: "noop", input: PAYLOAD }));
			await Promise.all([submitted, workOff(backend, count)]);
		},
		unitsPerCommit: () => (engine.counters.units - before.units) / (engine.counters.commits - before.commits),
		close: () => backend.close(),
	};
}

async function bullMq(url: string): Promise<Peer> {
	// BullMQ takes any client with the interface of ioredis, which iovalkey has.
	const connect = () => new Redis(url, { maxRetriesPerRequest: null }) as never;
	const connections = [connect(), connect()] as unknown as [Redis, Redis];
	const queue = new Queue("bench", { connection: connections[0] as never });
	let left = 0;
	let finished = () => {};
	const worker = new Worker("bench", async () => ({ ok: true }), {
		connection: connections[1] as never,
		concurrency: CONCURRENCY,
	});
	worker.on("completed", () => {
		left -= 1;
		if (left === 0) finished();
	});
	await worker.waitUntilReady();
	return {
		name: "BullMQ",
		async run(count) {
			left = count;
			const allDone = new Promise<void>((resolve) => (finished = resolve));
			await submitAll(count, () => queue.add("noop", PAYLOAD));
			await allDone;
		},
		async close() {
			await worker.close();
			await queue.close();
			for (const connection of connections) connection.disconnect();
		},
	};
}

async function serverState(admin: Redis): Promise<{ micros: number; bytes: number }> {
	const info = await admin.info();
	const field = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1]);
	return { micros: (field("used_cpu_user") + field("used_cpu_sys")) * 1e6, bytes: field("used_memory") };
}

async function measure(peer: Peer, admin: Redis): Promise<Figures> {
	const server = await serverState(admin);
	const client = process.cpuUsage();
	const from = performance.now();
	await peer.run(COUNT);
	const seconds = (performance.now() - from) / 1000;
	const { user, system } = process.cpuUsage(client);
	const after = await serverState(admin);
	return {
		perSecond: COUNT / seconds,
		serverMicros: (after.micros - server.micros) / COUNT,
		clientMicros: (user + system) / COUNT,
		bytes: (after.bytes - server.bytes) / COUNT,
		...(peer.unitsPerCommit ? { unitsPerCommit: peer.unitsPerCommit() } : undefined),
	};
}

function median(rounds: Figures[]): Figures {
	const of = (pick: (figures: Figures) => number) => {
		const sorted = rounds.map(pick).sort((a, b) => a - b);
		return Math.round((sorted[sorted.length >> 1] ?? 0) * 10) / 10;
	};
	return {
		perSecond: Math.round(of((f) => f.perSecond)),
		serverMicros: of((f) => f.serverMicros),
		clientMicros: of((f) => f.clientMicros),
		bytes: Math.round(of((f) => f.bytes)),
		...(rounds[0]?.unitsPerCommit === undefined ? undefined : { unitsPerCommit: of((f) => f.unitsPerCommit ?? 0) }),
	};
}

async function main(): Promise<void> {
	const server = await startValkey();
	const admin = new Redis(server.url);
	const makers = { flowfabric: flowFabric, bullmq: bullMq };
	const peers = await Promise.all(
		Object.entries(makers)
			.filter(([name]) => !flags.only || flags.only === name)
			.map(([, make]) => make(server.url)),
	);
	const rounds = new Map<string, Figures[]>(peers.map((peer) => [peer.name, []]));
	for (const peer of peers) await peer.run(COUNT);
	for (let round = 0; round < ROUNDS; round++) {
		for (const peer of peers) rounds.get(peer.name)?.push(await measure(peer, admin));
	}
	const figures = Object.fromEntries([...rounds].map(([name, all]) => [name, median(all)]));
	const ratio = (figures.FlowFabric?.perSecond ?? 0) / (figures.BullMQ?.perSecond ?? 0);
	if (flags.json) console.log(JSON.stringify({ count: COUNT, figures, ratio, rounds: Object.fromEntries(rounds) }));
	else {
		console.table(figures);
		console.log(`FlowFabric does ${ratio.toFixed(2)} × the lifecycles of BullMQ`);
	}
	for (const peer of peers) await peer.close();
	admin.disconnect();
	await server.stop();
}

await main();
