import { readFile } from "node:fs/promises";
import { afterEach, expect, it } from "vitest";
import { FORMAT } from "../../src/kernel/format.ts";
import { SLOTS, slotOf, trustedSlot } from "../../src/kernel/ids.ts";
import { slotOfKey } from "../../src/kernel/record-types.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type RecordFormat, type Store, StoreError } from "../../src/store/port.ts";
import { exportStore } from "../../src/store/transfer/export.ts";
import { importStore } from "../../src/store/transfer/import.ts";
import { ImportError } from "../../src/store/transfer/line.ts";
import { format, type OpenStore, stores, TestClock } from "./stores.ts";
import { event, gone, LOG, put, unit } from "./trial.ts";

const sample = new URL("./samples/format-1.jsonl", import.meta.url);

const opened: OpenStore[] = [];

afterEach(async () => {
	for (const { discard } of opened.splice(0)) await discard();
});

async function open(name: string): Promise<Store> {
	const row = stores.find((one) => one.name === name);
	if (!row) throw new Error(`no store ${name}`);
	const found = await row.open(new TestClock());
	opened.push(found);
	return found.store;
}

const memory = (partitions: number): Store => new MemoryStore(partitions, () => 1_700_000_000_000);

/** Where the engine looks for what has this key; lanes have a copy everywhere. */
const partitionOf =
	(store: Store) =>
	(key: string): number | undefined => {
		if (key.startsWith("ex_")) return trustedSlot(key.split("/")[0] ?? "") % store.partitions;
		if (key.startsWith("key:")) return slotOf(key.slice("key:".length)) % store.partitions;
		return key.startsWith("lane:") ? undefined : slotOf(key) % store.partitions;
	};

async function exported(store: Store): Promise<string[]> {
	const lines: string[] = [];
	for await (const line of exportStore(store, format)) lines.push(line);
	return lines;
}

const imported = (store: Store, lines: AsyncIterable<string> | Iterable<string>, as: RecordFormat = format) =>
	importStore(store, lines, { format: as, partitionOf: partitionOf(store) });

const sampleLines = async (): Promise<string[]> => (await readFile(sample, "utf8")).trimEnd().split("\n");

async function queuesOf(store: Store): Promise<unknown[]> {
	const all: unknown[] = [];
	for (let partition = 0; partition < store.partitions; partition++) {
		for (const queue of (await store.queues(partition, "")).queues) {
			for (const entry of (await store.first(partition, queue, 1000)).entries)
				all.push([queue, entry.key, entry.score]);
		}
	}
	return all.sort();
}

/** What is in a store, wherever it is; copies once. */
async function spread(store: Store): Promise<string[]> {
	const lines = (await exported(store))
		.slice(1, -1)
		.map((line) => JSON.stringify({ ...JSON.parse(line), partition: 0 }));
	return [...new Set(lines)].sort();
}

it("takes in a store of format 1", async () => {
	const store = await open("sqlite ×8");
	expect(await imported(store, await sampleLines())).toEqual({ records: 14, blobs: 1, events: 21 });
	const queues = new Set((await queuesOf(store)).map((found) => (found as string[])[0]));
	expect([...queues].sort()).toEqual([
		"due",
		"eligible,default,default,,binary",
		"eligible,default,default,,keyed",
		"eligible,default,default,,large",
		"eligible,default,default,,waiting",
		"list,default,default,active",
		"list,default,default,cancelled",
		"list,default,default,completed",
		"list,default,default,delayed",
		"list,default,default,failed",
		"list,default,default,waiting",
	]);
});

it("takes in a store of format 2: what waits, is granted or set aside, and lanes, into other partitions", async () => {
	const store = await open("sqlite ×8");
	const lines = (await readFile(new URL("./samples/format-2.jsonl", import.meta.url), "utf8")).trimEnd().split("\n");
	const partitionOf = (key: string) => {
		const slot = slotOfKey(key);
		return slot === undefined ? undefined : slot % store.partitions;
	};
	expect(await importStore(store, lines, { format, partitionOf })).toEqual({ records: 17, blobs: 0, events: 8 });
	const queues = new Set((await queuesOf(store)).map((found) => (found as string[])[0]));
	expect([...queues].sort()).toEqual([
		"blocked,route,default,gpu",
		"due",
		"eligible,default,default,,fair",
		"eligible,default,default,cuda gpu,cuda",
		"fair,default,default,,0,4,fair,a",
		"fair,default,default,,0,4,fair,b",
		"lanes,default",
		"list,default,default,waiting",
		"list,default,granted,waiting",
		"list,default,media,waiting",
		"workers,default",
	]);
});

const sampleOf = async (number: number): Promise<string[]> =>
	(await readFile(new URL(`./samples/format-${number}.jsonl`, import.meta.url), "utf8")).trimEnd().split("\n");

it.each([1, 3, 4])("takes in a store of format %i, and gives out one of today's", async (number) => {
	const store = memory(2);
	await imported(store, await sampleOf(number));
	const [, ...lines] = await sampleOf(4);
	expect(await exported(store)).toEqual([`{"flowfabric":"export","format":${FORMAT},"partitions":2}`, ...lines]);
});

/** Takes a sample in as it is done outside of tests. */
async function tookIn(store: Store, number: number): Promise<string[]> {
	const lines = await sampleOf(number);
	await importStore(store, lines, {
		format,
		partitionOf: (key) => {
			const slot = slotOfKey(key);
			return slot === undefined ? undefined : slot % store.partitions;
		},
	});
	return lines;
}

it("gives back what a store of format 5 held: budgets and quotas, who holds them, spent and waits", async () => {
	const store = memory(2);
	const lines = await tookIn(store, 5);
	// Every partition counts turns for itself, so each is given what any had counted.
	const withoutTurns = (all: string[]) => all.filter((line) => !line.includes("turn:") && !line.startsWith('{"end"'));
	const [, ...rest] = withoutTurns(lines);
	expect(withoutTurns(await exported(store))).toEqual([
		`{"flowfabric":"export","format":${FORMAT},"partitions":2}`,
		...rest,
	]);
	const queues = new Set((await queuesOf(store)).map((found) => (found as string[])[0]));
	expect([...queues].sort()).toEqual([
		"blocked,quota,default,openai",
		"budgets,default",
		"due",
		"eligible,default,default,,free",
		"holders,budget,default,team",
		"holders,quota,default,openai",
		"ledger,default,team,0",
		"list,default,default,active",
		"list,default,default,rate_limited",
		"list,default,default,waiting",
		"quotas,default",
		"usagekeys,default,team",
	]);
});

it.each(["memory", "sqlite"])(
	"gives back a store of format 6 as it took it: what waits for whom, and what came (%s)",
	async (name) => {
		const store = name === "memory" ? memory(2) : await open("sqlite ×8");
		const lines = await tookIn(store, 6);
		const back = memory(2);
		await importStore(back, await exported(store), { format, partitionOf: (key) => (slotOfKey(key) ?? 0) % 2 });
		expect(await exported(back)).toEqual([
			`{"flowfabric":"export","format":${FORMAT},"partitions":2}`,
			...lines.slice(1),
		]);
		const queues = new Set((await queuesOf(store)).map((found) => (found as string[])[0]));
		const named = [...queues].map((queue) => queue?.replace(/(ex|wp)_\w+/, "$1_…")).sort();
		expect([...new Set(named)]).toEqual([
			"blocked,budget,default,b",
			"budgets,default",
			"due",
			"holders,quota,default,q",
			"list,default,default,active",
			"list,default,default,delayed",
			"list,default,default,suspended",
			"part,buffered,wp_…",
			"part,counted,ex_…,1",
			"part,inbox,default",
			"part,steps,ex_…,0",
			"part,suspended,waiting_for_approval,default",
			"part,suspended,waiting_for_budget,default",
			"part,waitpoints,ex_…",
			"quotas,default",
		]);
	},
);

it("gives back what it took, through stores of every kind", async () => {
	const first = await open("memory ×8");
	await imported(first, await sampleLines());
	const lines = await exported(first);
	// The lane had two copies and now has eight.
	expect(lines).toHaveLength((await sampleLines()).length + 6);
	const second = await open("sqlite ×8");
	await imported(second, lines);
	expect(await exported(second)).toEqual(lines);
	const third = memory(8);
	await imported(third, await exported(second));
	expect(await exported(third)).toEqual(lines);
	expect(await queuesOf(third)).toEqual(await queuesOf(first));
});

it("moves records to the partitions they belong to, and copies what every partition keeps", async () => {
	const one = memory(1);
	await imported(one, await sampleLines());
	const eight = await open("sqlite ×8");
	await imported(eight, await exported(one));
	expect(await queuesOf(eight)).toEqual(await queuesOf(one));
	for (let partition = 0; partition < 8; partition++) {
		const { records } = await eight.scan(partition, undefined, 100);
		const strays = records.filter(({ key }) => (partitionOf(eight)(key) ?? partition) !== partition);
		expect(strays).toEqual([]);
		expect(records.filter(({ key }) => key.startsWith("lane:"))).toHaveLength(1);
	}
	const again = memory(1);
	await imported(again, await exported(eight));
	expect(await spread(again)).toEqual(await spread(one));
	const { events } = await again.events(0, "default", undefined, undefined, 100);
	expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).sort((a, b) => a - b));
});

it("keeps bytes and strange texts as they are, and the order of a history", async () => {
	const store = memory(1);
	const strange = "a\u0000b\n\ud83d 🦊 '\"\\";
	const bytes = Uint8Array.from({ length: 70_000 }, (_, n) => n % 256);
	await store.commit(0, {
		engine: "e",
		number: 1,
		at: 1_700_000_000_000,
		units: [
			put(strange, strange),
			unit({ blobs: [{ key: strange, bytes }] }),
			unit({ blobs: [{ key: "empty", bytes: new Uint8Array() }] }),
			unit({ events: Array.from({ length: 500 }, (_, n) => event(n % 3 ? strange : "gone", `${n}`, n)) }),
			unit({ forgotten: gone("gone") }),
			unit({ events: [event("gone", "reborn")] }),
		],
	});
	const through = await open("sqlite ×8");
	await imported(through, await exported(store));
	const partition = partitionOf(through)(strange) ?? 0;
	const { blobs } = await through.readBlobs(partition, [strange]);
	expect(Buffer.compare(blobs[0] ?? new Uint8Array(), bytes)).toBe(0);
	const { events } = await through.events(partition, LOG, strange, undefined, 1000);
	expect(events.map(({ body }) => Number(body))).toEqual(Array.from({ length: 500 }, (_, n) => n).filter((n) => n % 3));
	const back = memory(1);
	await imported(back, await exported(through));
	expect(await spread(back)).toEqual(await spread(store));
	expect((await back.events(0, LOG, "gone", undefined, 10)).events.map(({ body }) => body)).toEqual(["reborn"]);
});

it.each<[string, (lines: string[]) => string[], RegExp]>([
	["cut within a line", (lines) => [...lines.slice(0, 9), (lines[9] ?? "").slice(0, 40)], /^line 10: is not JSON/],
	["cut between lines", (lines) => lines.slice(0, 12), /ends after line 12 .* cut short/],
	["empty", () => [], /ends after line 0/],
	["without a header", (lines) => lines.slice(1), /^line 1: must be the header/],
	["with two headers", (lines) => [...lines.slice(0, 3), ...lines], /^line 4: is a second header/],
	["with a line missing", (lines) => lines.toSpliced(4, 1), /^line 37: the export had 14 records, but 13 were found/],
	[
		"with a line twice",
		(lines) => lines.toSpliced(4, 0, lines[3] ?? ""),
		/^line 39: the export had 14 records, but 15/,
	],
	["going on after its end", (lines) => [...lines, lines[3] ?? ""], /^line 39: comes after the end/],
	["of another program", () => ['{"event":"x"}'], /^line 1: partition: must be a number/],
	["that is no object", (lines) => lines.with(5, "[]"), /^line 6: must be an object/],
	["of an unknown kind", (lines) => lines.with(5, '{"what":1}'), /^line 6: is none of header, record/],
	[
		"with a field of a wrong type",
		(lines) => lines.with(5, '{"record":"x","partition":0,"doc":7}'),
		/^line 6: doc: must be a string/,
	],
	[
		"with a broken number",
		(lines) => lines.with(5, '{"record":"x","partition":0.5,"doc":""}'),
		/partition: must be an integer/,
	],
	[
		"with a partition it has not",
		(lines) => lines.with(5, '{"record":"x","partition":2,"doc":""}'),
		/partition: must be 0 to 1, not 2/,
	],
	["with garbled bytes", (lines) => lines.with(5, '{"blob":"x","partition":0,"base64":"?!"}'), /^line 6: base64/],
	[
		"of a later format",
		(lines) => lines.with(0, '{"flowfabric":"export","format":99,"partitions":2}'),
		new RegExp(`^line 1: format: 99 .* up to ${FORMAT}`),
	],
])("refuses an export %s", async (_, change, message) => {
	const failing = imported(memory(2), change(await sampleLines()));
	await expect(failing).rejects.toBeInstanceOf(ImportError);
	await expect(failing).rejects.toThrow(message);
});

it("refuses a key that comes twice", async () => {
	const lines = await sampleLines();
	const [header, record] = lines as [string, string];
	const twice = [header, record, record, '{"end":{"records":2,"blobs":0,"events":0}}'];
	await expect(imported(memory(2), twice)).rejects.toThrow(/^line 3: ex_\w+ came before/);
});

it("refuses a store that is not empty", async () => {
	for (const held of [
		unit({ events: [event("o", "e")] }),
		put("a", ""),
		unit({ blobs: [{ key: "b", bytes: Buffer.of(1) }] }),
	]) {
		const store = memory(2);
		await store.commit(1, { engine: "e", number: 1, at: 1_700_000_000_000, units: [held] });
		await expect(imported(store, await sampleLines())).rejects.toThrow(/not empty: partition 1/);
	}
});

it("brings documents of an earlier format up to date", async () => {
	const store = memory(1);
	await imported(store, await sampleLines(), {
		format: 99,
		migrate: (from, key, doc) => `${from} ${key} ${doc}`,
		indexOf: (_, doc) => [{ queue: "all", score: doc.length }],
	});
	const { records } = await store.scan(0, undefined, 100);
	for (const { key, doc } of records) expect(doc.startsWith(`1 ${key} {`)).toBe(true);
	expect((await store.first(0, "all", 100)).entries).toHaveLength(records.length);
});

it("does not write twice when an answer is lost", async () => {
	const store = memory(1);
	let lost = 0;
	const unreliable = new Proxy(store, {
		get(target, name) {
			if (name !== "commit") {
				const found = Reflect.get(target, name);
				return typeof found === "function" ? found.bind(target) : found;
			}
			return async (...args: Parameters<Store["commit"]>) => {
				const reply = await target.commit(...args);
				if (lost++ % 2 === 0) throw new StoreError("the line was cut", { applied: "unknown" });
				return reply;
			};
		},
	});
	await imported(unreliable, await sampleLines());
	const { events } = await store.events(0, "default", undefined, undefined, 1000);
	expect(events).toHaveLength(21);
	expect(lost).toBeGreaterThan(1);
});

it("streams: 5000 records are never in memory at once, out or in", async () => {
	const source = await open("sqlite ×8");
	for (let partition = 0; partition < 8; partition++) {
		const slots = Array.from({ length: SLOTS }, (_, n) => n).filter((slot) => slot % 8 === partition);
		const units = slots.slice(0, 625).map((slot) => put(`ex_${"0".repeat(32)}_${slot}`, "x".repeat(1000)));
		await source.commit(partition, { engine: "e", number: 1, at: 1_700_000_000_000, units });
	}
	let scanned = 0;
	let given = 0;
	let committed = 0;
	let furthest = 0;
	const counted = new Proxy(source, {
		get(target, name) {
			const found = Reflect.get(target, name);
			if (typeof found !== "function") return found;
			return async (...args: unknown[]) => {
				const answer = await found.apply(target, args);
				if (name === "scan") scanned += answer.records.length;
				return answer;
			};
		},
	});
	async function* watched(): AsyncIterable<string> {
		for await (const line of exportStore(counted, format)) {
			given += 1;
			furthest = Math.max(furthest, scanned - given, given - committed);
			yield line;
		}
	}
	const target = memory(1);
	const commit = target.commit.bind(target);
	target.commit = async (partition, batch) => {
		committed += batch.units.length;
		return commit(partition, batch);
	};
	expect((await imported(target, watched())).records).toBe(5000);
	expect(furthest).toBeLessThan(1100);
});
