import { randomUUID } from "node:crypto";
import { Redis } from "iovalkey";
import { describe, expect, test } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric, type SubmitItem } from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { storeTraffic } from "../conformance/store-traffic.ts";
import { sharedCluster } from "../servers/valkey-cluster.ts";
import { hasValkey, sharedValkey } from "../servers/valkey-server.ts";

const EXECUTIONS = Number(process.env.FF_AUDIT_EXECUTIONS ?? 2000);
const RETENTION_MS = 60_000;
const PATIENCE_MS = 60_000 + EXECUTIONS * 10;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LANES = ["default", "other"];

/** Time goes by between two engines as fast as a test likes. */
let offset = 0;

async function open(url: string): Promise<{ ff: FlowFabric; clock: VirtualClock }> {
	const clock = new VirtualClock();
	const testClock = { now: () => clock.now() + offset, clock };
	const ff = await FlowFabric.open(url, { partitions: 8, retentionMs: RETENTION_MS, testClock });
	const { engine } = ff.backend as LocalBackend;
	const calls = storeTraffic(engine.store);
	clock.watch(() => !engine.idle || calls.busy);
	return { ff, clock };
}

/** Of every sort: keyed, tagged, with bytes kept apart, in several lanes, retried, replayed, cancelled, expired. */
const itemOf = (n: number): SubmitItem<Record<string, { input: unknown; result: unknown }>> => ({
	kind: n % 7 === 0 ? "flaky" : "job",
	input: n % 10 === 0 ? "x".repeat(6000) : { n },
	lane: LANES[n % 2] as string,
	priority: n % 3,
	policy: { retry: { maxRetries: 3, backoff: { type: "fixed", delayMs: 0 } } },
	...(n % 4 === 0 ? { idempotencyKey: `key ${n}` } : undefined),
	...(n % 5 === 0 ? { tags: { team: `t${n % 3}` } } : undefined),
	...(n % 11 === 0 ? { fairnessKey: `tenant ${n % 4}` } : undefined),
	...(n % 13 === 0 ? { delayMs: HOUR } : undefined),
});

/** Submits them and lets each come to an end of its own. */
async function liveThrough(url: string): Promise<void> {
	const { ff, clock } = await open(url);
	const { leases } = ff.backend;
	const ids: string[] = [];
	for (let from = 0; from < EXECUTIONS; from += 1000) {
		const items = Array.from({ length: Math.min(1000, EXECUTIONS - from) }, (_, n) => itemOf(from + n));
		for (const result of await ff.submitMany(items)) if (result.ok) ids.push(result.run.id);
	}
	expect(ids).toHaveLength(EXECUTIONS);
	for (const [n, id] of ids.entries()) if (n % 13 === 0) await ff.cancel(id);
	await ff.backend.workers.register("w-1", { workerId: "w", lanes: LANES, capabilities: [], ttlMs: MINUTE });
	for (let round = 0; ; round++) {
		const request = { workerId: "w", instanceId: "w-1", lanes: LANES, max: 100, requestId: `r${round}` };
		const claimed = await leases.claim(request);
		if (claimed.length === 0) break;
		await Promise.all(
			claimed.map(async ({ id, kind, lease, attempt }) => {
				const fence = { leaseId: lease.id, epoch: lease.epoch };
				if (kind === "flaky" && attempt.index < 2) await leases.fail(id, { fence, reason: "not yet", category: "net" });
				else await leases.complete(id, { fence, result: attempt.index > 0 ? "y".repeat(6000) : { ok: true } });
			}),
		);
		await clock.advance(1);
	}
	const left = await Promise.all(
		(["waiting", "delayed", "active"] as const).map(async (state) => (await ff.list({ state })).executions.length),
	);
	expect(left).toEqual([0, 0, 0]);
	await ff.close();
}

/** An engine comes back later and does whatever is due by then, until that is done. */
async function later(url: string, ms: number, isDone: () => Promise<boolean>): Promise<void> {
	offset += ms;
	const { ff, clock } = await open(url);
	const deadline = performance.now() + PATIENCE_MS;
	// Trimming goes on in real time, whatever the clock says.
	do await clock.advance(6 * MINUTE);
	while (!(await isDone()) && performance.now() < deadline);
	await ff.close();
}

/** How many keys of which sort there are, and what they are if there are few. */
async function remaining(nodes: readonly string[], prefix: string): Promise<Record<string, string[]>> {
	const sorts: Record<string, string[]> = {};
	for (const url of nodes) {
		const client = new Redis(url);
		for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1000 })) {
			for (const key of keys as string[]) {
				const [, sort = "settings"] = /^[^{]*\{\d+\}(.:?)/.exec(key) ?? [];
				sorts[sort] ??= [];
				sorts[sort].push(key.slice(prefix.length));
			}
		}
		client.disconnect();
	}
	for (const keys of Object.values(sorts)) keys.sort();
	return sorts;
}

const rows = {
	"one server": async () => [(await sharedValkey()).url],
	"a cluster": async () => (await sharedCluster()).primaries.map(({ url }) => url),
};

describe.runIf(hasValkey()).each(Object.entries(rows))("retention on %s", (name, start) => {
	test(`leaves no key of ${EXECUTIONS} executions behind`, { timeout: 120_000 + EXECUTIONS * 30 }, async () => {
		offset = 0;
		const nodes = await start();
		const prefix = `audit-${randomUUID()}`;
		const url = `${nodes[0]}?prefix=${prefix}${nodes.length > 1 ? "&cluster=true" : ""}`;
		await liveThrough(url);
		const before = await remaining(nodes, prefix);
		expect(before["r:"]?.length).toBeGreaterThan(EXECUTIONS);
		const isGone =
			(...sorts: string[]) =>
			async (): Promise<boolean> => {
				const left = await remaining(nodes, prefix);
				return sorts.every((sort) => left[sort] === undefined);
			};
		await later(url, 2 * HOUR, isGone("q:", "b:"));
		await later(url, 26 * HOUR, isGone("l", "q:", "d"));
		const after = await remaining(nodes, prefix);
		const counts = (sorts: Record<string, string[]>) =>
			Object.entries(sorts)
				.map(([sort, keys]) => `${sort} ${keys.length}`)
				.join(", ");
		process.stdout.write(`${EXECUTIONS} executions on ${name}: ${counts(before)}; trimmed: ${counts(after)}\n`);
		// A partition keeps its header, and a record of what its log once had; the store keeps its keys.
		const partitions = (after.h ?? []).map((key) => key.slice(0, -1));
		const ring = (after["r:"] ?? []).find((key) => key.endsWith("}r:keyring"));
		const home = ring?.slice(0, -"r:keyring".length);
		const kept = (sort: string) => [`${home}${sort}keyring`, `${home}${sort}cursors`];
		expect(partitions).toHaveLength(8);
		expect(after).toEqual({
			settings: ["settings"],
			h: partitions.map((partition) => `${partition}h`),
			"r:": [...partitions.map((partition) => `${partition}r:log`), ...kept("r:")].sort(),
			"v:": [...partitions.map((partition) => `${partition}v:log`), ...kept("v:")].sort(),
		});
	});
});
