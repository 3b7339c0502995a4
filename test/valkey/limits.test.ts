import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "iovalkey";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import { type Command, type Kernel, kernel } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { openStoreAt } from "../../src/library/open.ts";
import { type Unit, unitOf } from "../../src/store/port.ts";
import { partitionKeys } from "../../src/store/valkey/partition-keys.ts";
import { partitionTags } from "../../src/store/valkey/slots.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";
import { hasValkey, ownStore, sharedValkey } from "../servers/valkey-server.ts";

/** How long an idle engine is looked at: this is what is measured over, nothing is waited for. */
const LOOKED_ON_MS = 15_000;

const drops: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const drop of drops.splice(0)) await drop();
});

async function newStore(): Promise<string> {
	const { url, drop } = ownStore(await sharedValkey());
	drops.push(drop);
	return url;
}

/** What a server has done so far. */
interface ServerWork {
	/** Function calls answered, and the microseconds they took. */
	calls: number;
	micros: number;
	/** Commands run, those inside functions too. */
	commands: number;
	/** Bytes sent to clients. */
	sent: number;
}

async function serverWork(): Promise<ServerWork> {
	const admin = new Redis((await sharedValkey()).url);
	const stats = `${await admin.info("commandstats")}\n${await admin.info("stats")}`;
	admin.disconnect();
	const [, calls = 0, micros = 0] = /^cmdstat_fcall:calls=(\d+),usec=(\d+)/m.exec(stats) ?? [];
	const commands = [...stats.matchAll(/^cmdstat_\S+:calls=(\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
	const [, sent = 0] = /^total_net_output_bytes:(\d+)/m.exec(stats) ?? [];
	return { calls: Number(calls), micros: Number(micros), commands, sent: Number(sent) };
}

describe.runIf(hasValkey())("on Valkey", () => {
	const HOT = "counter:hot";
	const count = (tx: Tx): Outcome => {
		tx.put(HOT, { count: (tx.get<{ count: number }>(HOT)?.count ?? 0) + 1 });
		return { ok: true };
	};
	const counting: Kernel = { ...kernel, rules: { ...kernel.rules, ...{ count } } };

	test("a log is read and trimmed over what it holds, however many commits were made", async () => {
		const url = await newStore();
		const store = await openStoreAt(url);
		const admin = new Redis(url.split("?")[0] as string);
		const { prefix } = parseValkeyUrl(url);
		const [home, owners] = [0, ["early", "middle", "late"]];
		const apply = async (unit: Partial<Unit>, number: number) => {
			const { time } = await store.read(home, []);
			const { results } = await store.commit(home, { engine: "e", number, at: time, units: [unitOf(unit)] });
			expect(results).toEqual([{ ok: true }]);
		};
		// Between any two of them ten million commits were made that nothing is left of.
		for (const [n, owner] of owners.entries()) {
			await apply({ events: [{ log: "tenant", owner, at: 10 * n, body: owner }] }, n + 1);
			await admin.hincrby(
				partitionKeys(prefix, partitionTags(store.partitions)[home] as number).header,
				"commits",
				1e7,
			);
		}
		const bodies = async () =>
			(await store.events(home, "tenant", undefined, undefined, 10)).events.map(({ body }) => body);
		const before = await serverWork();
		expect(await bodies()).toEqual(owners);
		await apply({ forgotten: ["early", "late"].map((owner) => ({ log: "tenant", owner })) }, 4);
		expect((await store.trimEvents(home, 10)).trimmed).toBe(1);
		expect(await bodies()).toEqual(["middle", "late"]);
		expect((await store.trimEvents(home, 30)).trimmed).toBe(1);
		expect(await bodies()).toEqual(["middle"]);
		const after = await serverWork();
		expect(after.calls - before.calls).toBeLessThan(20);
		admin.disconnect();
		await store.close();
	});

	test.each([2, 8])("a record that every command of %i engines writes fails none and starves none", async (engines) => {
		const url = await newStore();
		const opened: Engine[] = [];
		for (let n = 0; n < engines; n++) {
			const engine = new Engine({ store: await openStoreAt(url), kernel: counting });
			await engine.start();
			opened.push(engine);
		}
		const commands = 1600 / engines;
		await Promise.all(
			opened.map(async (engine) => {
				let left = commands;
				const caller = async () => {
					while (left-- > 0) await engine.runner(0).run({ op: "count" } as unknown as Command);
				};
				await Promise.all(Array.from({ length: 16 }, caller));
			}),
		);
		const { records } = await (opened[0] as Engine).store.read(0, [HOT]);
		const worst = Math.max(...opened.map(({ counters }) => counters.worstLosses));
		const lost = opened.reduce((sum, { counters }) => sum + counters.lost, 0);
		await Promise.all(opened.map((engine) => engine.close()));
		process.stdout.write(`${engines} engines, one record: ${lost} units lost, at most ${worst} times in a row\n`);
		expect(JSON.parse(records[0]?.doc ?? "")).toEqual({ count: 1600 });
		expect(worst).toBeLessThanOrEqual(15);
	});

	test("an engine with 256 partitions and 10 waiting workers asks for less than 2 functions a second", async () => {
		const ff = await FlowFabric.open(await newStore(), { partitions: 256 });
		for (let n = 0; n < 10; n++) {
			const worker = ff.worker({ concurrency: 4, handleSignals: false });
			worker.handle("noop", async () => "woken");
			await worker.start();
		}
		const { engine } = ff.backend as LocalBackend;
		await vi.waitFor(() => expect(engine.dispatcher.waiting.sleeping).toBe(10), { timeout: 10_000 });
		const before = await serverWork();
		await sleep(LOOKED_ON_MS);
		const perSecond = ((await serverWork()).calls - before.calls) / (LOOKED_ON_MS / 1000);
		process.stdout.write(`idle: ${perSecond.toFixed(2)} function calls a second\n`);
		expect(await (await ff.submit("noop")).result({ timeoutMs: 10_000 })).toBe("woken");
		await ff.close();
		expect(perSecond).toBeLessThan(2);
	});

	// By what the server is asked to do, which is the same on a busy machine; `npm run bench -- valkey-growth` times it.
	test("claiming and completing asks no more of the server with 100,000 queued than with 2,000", {
		timeout: 300_000,
	}, async () => {
		const atFew = await workOff(await storeWith(2000), 1000);
		const atMany = await workOff(await storeWith(100_000), 1000);
		const ratio = (of: keyof ServerWork) => atMany[of] / atFew[of];
		process.stdout.write(
			`claim and complete with 100k queued: ${ratio("commands").toFixed(2)} × the commands, ` +
				`${ratio("sent").toFixed(2)} × the bytes, ${ratio("micros").toFixed(2)} × the server's time with 2k\n`,
		);
		expect(ratio("commands")).toBeLessThanOrEqual(1.3);
		expect(ratio("sent")).toBeLessThanOrEqual(1.3);
	});
});

/** The URL of a store with so many queued. */
async function storeWith(count: number): Promise<string> {
	const url = await newStore();
	const ff = await FlowFabric.open(url);
	for (let from = 0; from < count; from += 1000)
		await ff.submitMany(
			Array.from({ length: 1000 }, (_, n) => ({ kind: "noop", input: { n, text: "x".repeat(180) } })),
		);
	await ff.close();
	return url;
}

/** Claims and completes so many with an engine that has seen none of them; what the server did for it. */
async function workOff(url: string, count: number): Promise<ServerWork> {
	const ff = await FlowFabric.open(url);
	const { leases } = ff.backend;
	const before = await serverWork();
	for (let done = 0; done < count; ) {
		const claimed = await leases.claim({ workerId: "w", instanceId: "w", max: 16 });
		expect(claimed.length).toBeGreaterThan(0);
		await Promise.all(
			claimed.map(({ id, lease }) => leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } })),
		);
		done += claimed.length;
	}
	const after = await serverWork();
	await ff.close();
	return {
		calls: after.calls - before.calls,
		micros: after.micros - before.micros,
		commands: after.commands - before.commands,
		sent: after.sent - before.sent,
	};
}
