import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "iovalkey";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Notice, type RecordFormat, type Store, type StoreOptions, unitOf } from "../../src/store/port.ts";
import { LIBRARY_HASH } from "../../src/store/valkey/function-library.ts";
import { LIBRARY_VERSION } from "../../src/store/valkey/function-names.ts";
import { LIBRARY } from "../../src/store/valkey/library.ts";
import { openValkeyStore } from "../../src/store/valkey/open.ts";
import { realPatience } from "../../src/store/valkey/patience.ts";
import { partitionTags } from "../../src/store/valkey/slots.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";
import { recordsOf } from "../conformance/scanned.ts";
import { format } from "../conformance/stores.ts";
import { entry, put } from "../conformance/trial.ts";
import { sharedCluster } from "../servers/valkey-cluster.ts";
import { freePort, hasValkey, launch, startValkey, type ValkeyServer } from "../servers/valkey-server.ts";

const newer = `#!lua name=flowfabric\nredis.register_function('ff${LIBRARY_VERSION + 1}_commit', function() return 0 end)`;

/** The port of somebody in between who takes a moment, once, over the first request that fits and all behind it. */
async function slowFrom(request: RegExp, port: number): Promise<number> {
	let isSlow = true;
	const between = createServer((client) => {
		const server = connect(port, "127.0.0.1");
		server.pipe(client);
		let sent: Promise<unknown> = Promise.resolve();
		client.on("data", (bytes) => {
			if (isSlow && request.test(bytes.toString())) {
				isSlow = false;
				sent = realPatience.pause(SLOW_MS);
			}
			sent = sent.then(() => server.write(bytes));
		});
		for (const end of [client, server]) end.on("error", () => {}).on("close", () => [client, server].forEach(close));
	});
	await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void between.close());
	return (between.address() as AddressInfo).port;
}

const close = (socket: Socket): void => void socket.destroy();

/** Longer than a node may take to tell who has which slots before another one is asked. */
const SLOW_MS = 1500;

describe.runIf(hasValkey())("opening a store on Valkey", () => {
	let server: ValkeyServer;
	let client: Redis;
	beforeAll(async () => {
		server = await startValkey(["--appendonly", "no"]);
		client = new Redis(server.url);
	});
	afterAll(async () => {
		client.disconnect();
		await server.stop();
	});

	const newUrl = (): string => `${server.url}?prefix=${randomUUID()}`;

	async function open(url: string, options: Partial<StoreOptions> = {}): Promise<Store> {
		const store = await openValkeyStore(url, { format, ...options });
		onTestFinished(() => store.close());
		return store;
	}

	const refusal = (opening: Promise<unknown>) =>
		opening.then(
			() => new Error("was opened"),
			(error: unknown) => error as Error,
		);

	let batches = 0;
	async function commit(store: Store, partition: number, units: ReturnType<typeof put>[]) {
		const { time } = await store.read(partition, []);
		return store.commit(partition, { engine: randomUUID(), number: ++batches, at: time, units });
	}

	describe("settings", () => {
		it("a new store has 8 partitions unless told otherwise, an old one what it was made with", async () => {
			const url = newUrl();
			expect((await open(url)).partitions).toBe(8);
			expect((await open(url)).partitions).toBe(8);
			expect((await open(newUrl(), { partitions: 3 })).partitions).toBe(3);
		});

		it("other partitions than the store's are refused, naming both counts", async () => {
			const url = newUrl();
			await open(url, { partitions: 4 });
			expect(await refusal(open(url, { partitions: 8 }))).toMatchObject({
				code: "partition_mismatch",
				details: { field: "partitions", stored: 4, configured: 8 },
				message: expect.stringMatching(/partitions.*4.*8/),
			});
		});

		it("of many that make a store at once, one decides and all agree", async () => {
			const url = newUrl();
			const opened = await Promise.allSettled([2, 3, 5, 2, 3, 5].map((partitions) => open(url, { partitions })));
			const counts = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value.partitions] : []));
			expect(counts).toHaveLength(2);
			expect(new Set(counts).size).toBe(1);
			for (const one of opened)
				if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "partition_mismatch" });
		});

		it("a store that must exist is not made", async () => {
			const url = newUrl();
			expect(await refusal(open(url, { mustExist: true }))).toMatchObject({
				code: "store_unavailable",
				message: expect.stringMatching(/there is no store here/),
			});
			await open(url);
			await open(url, { mustExist: true });
		});

		it("a key that is another program's is refused and left as it was", async () => {
			const url = newUrl();
			const key = `${new URL(url).searchParams.get("prefix")}settings`;
			await client.set(key, "mine");
			expect(await refusal(open(url))).toMatchObject({ code: "store_invalid" });
			expect(await client.get(key)).toBe("mine");
			await client.del(key);
			await client.rpush(key, "mine");
			expect(await refusal(open(url))).toMatchObject({ code: "store_invalid" });
		});

		it("a test's time is refused without it, and the other way round", async () => {
			const [real, test] = [newUrl(), newUrl()];
			await open(real);
			expect(await refusal(open(real, { testClock: () => 1 }))).toMatchObject({ code: "store_invalid" });
			await open(test, { testClock: () => 1 });
			expect(await refusal(open(test))).toMatchObject({ code: "store_invalid" });
		});
	});

	describe("the function library", () => {
		const loaded = async (): Promise<string> => String(await client.call("FUNCTION", "LIST", "WITHCODE"));

		it("is loaded, and again when it was flushed while the store is open", async () => {
			const store = await open(newUrl());
			expect(await loaded()).toContain(`ff${LIBRARY_VERSION}_commit`);
			await client.call("FUNCTION", "FLUSH");
			expect((await commit(store, 0, [put("a", "1")])).results).toEqual([{ ok: true }]);
			await client.call("FUNCTION", "FLUSH");
			expect((await store.read(0, ["a"])).records[0]).toMatchObject({ doc: "1" });
		});

		it("replaces an older one, and one of the same version with another text", async () => {
			for (const other of [LIBRARY.replaceAll(`ff${LIBRARY_VERSION}_`, "ff0_"), `${LIBRARY}-- other\n`]) {
				await client.call("FUNCTION", "LOAD", "REPLACE", other);
				await open(newUrl());
				expect(await loaded()).toContain(`ff${LIBRARY_VERSION}_commit`);
				expect(await loaded()).not.toMatch(/ff0_|-- other/);
			}
		});

		it("of a later version is left alone: the program refuses to start", async () => {
			await client.call("FUNCTION", "LOAD", "REPLACE", newer);
			onTestFinished(async () => void (await client.call("FUNCTION", "FLUSH")));
			expect(await refusal(open(newUrl()))).toMatchObject({
				code: "store_too_new",
				message: expect.stringMatching(/upgrade/),
			});
			expect(await loaded()).toContain(`ff${LIBRARY_VERSION + 1}_commit`);
		});

		it("of a later version stops a program that runs, for good", async () => {
			const store = await open(newUrl());
			await client.call("FUNCTION", "LOAD", "REPLACE", newer);
			onTestFinished(async () => void (await client.call("FUNCTION", "FLUSH")));
			for (const call of [() => store.read(0, ["a"]), () => store.first(0, "q", 1)]) {
				expect(await refusal(call())).toMatchObject({ code: "store_too_new", applied: "no", passing: false });
			}
			expect(await loaded()).toContain(`ff${LIBRARY_VERSION + 1}_commit`);
		});

		it("is loaded by many at once, and none disturbs the others", async () => {
			await client.call("FUNCTION", "FLUSH");
			const url = newUrl();
			const stores = await Promise.all(Array.from({ length: 8 }, () => open(url)));
			const replies = await Promise.all(stores.map((store, n) => commit(store, n % 8, [put(`k${n}`, "")])));
			expect(replies.map(({ results }) => results)).toEqual(stores.map(() => [{ ok: true }]));
		});
	});

	describe("a store of an earlier format", () => {
		const first: RecordFormat = { format: 1, migrate: (_from, _key, doc) => doc, indexOf: () => [] };
		const second: RecordFormat = {
			format: 2,
			migrate: (from, _key, doc) => `${doc} was of format ${from}`,
			indexOf: (key, doc) => (key.endsWith("7") ? [{ queue: "new", score: doc.length }] : []),
		};
		const keys = Array.from({ length: 300 }, (_, n) => `key-${String(n).padStart(3, "0")}`);

		async function made(): Promise<string> {
			const url = newUrl();
			const store = await openValkeyStore(url, { partitions: 2, format: first });
			for (const partition of [0, 1]) {
				const units = keys.map((key) => ({ ...put(key, `of ${key}`), indexAdded: [entry("old", 1, key)] }));
				await commit(store, partition, units);
			}
			await store.close();
			return url;
		}

		async function expectMigrated(url: string): Promise<void> {
			const store = await open(url, { format: second });
			for (const partition of [0, 1]) {
				const records = await recordsOf(store, partition);
				expect(records.map(({ key, doc }) => [key, doc])).toEqual(
					keys.map((key) => [key, `of ${key} was of format 1`]),
				);
				expect((await store.queues(partition, "")).queues).toEqual(["new"]);
				expect((await store.first(partition, "new", 99)).entries).toEqual(
					keys.filter((key) => key.endsWith("7")).map((key) => ({ key, score: 26 })),
				);
			}
		}

		it("is brought up to date once, its index built anew, and refused by earlier programs from then on", async () => {
			const url = await made();
			await expectMigrated(url);
			await expectMigrated(url);
			expect(await refusal(open(url, { format: first }))).toMatchObject({ code: "store_too_new" });
		});

		it("has its one log told apart by namespace, with histories and what was forgotten", async () => {
			const url = newUrl();
			const before: RecordFormat = { format: 3, migrate: (_from, _key, doc) => doc, indexOf: () => [] };
			await (await openValkeyStore(url, { partitions: 1, format: before })).close();
			const { prefix } = parseValkeyUrl(url);
			const tag = `${prefix}{${partitionTags(1)[0]}}`;
			const told = (at: number, owner: string, fields: object) => {
				const body = JSON.stringify({ seq: 1, ...fields });
				return `${at} ${owner.length} ${body.length} ${owner}${body}`;
			};
			await client.hset(`${tag}h`, { time: 50, commits: 2 });
			await client.hset(`${tag}l`, {
				1: told(10, "kept", { namespace: "one" }) + told(10, "gone", { namespace: "two" }),
				2: `x${told(20, "kept", { namespace: "one", flowId: "fl" })}`,
			});
			await client.zadd(`${tag}o`, 1, "1");
			await client.set(`${tag}v:kept`, `${"0".repeat(14)} 1 2`);
			const stores = await Promise.all([1, 2].map(() => open(url, { format: { ...before, format: 4 } })));
			for (const store of stores) {
				expect((await store.logs(0)).logs).toEqual(["one", "two"]);
				const { events } = await store.events(0, "one", "kept", undefined, 10);
				expect(events.map(({ at, group, commit, index }) => [at, group, commit, index])).toEqual([
					[10, undefined, 1, 0],
					[20, "fl", 2, 1],
				]);
				expect((await store.events(0, "two", "gone", undefined, 10)).events).toEqual([]);
				expect((await store.events(0, "two", undefined, undefined, 10)).events).toMatchObject([{ owner: "gone" }]);
			}
			expect(await client.exists(`${tag}l`, `${tag}s`, `${tag}o`)).toBe(0);
			expect((await stores[0]?.trimEvents(0, 30))?.trimmed).toBe(1);
			expect((await stores[0]?.logs(0))?.logs).toEqual(["one"]);
		});

		it("is brought up to date by several at once", async () => {
			const url = await made();
			await Promise.all([1, 2, 3].map(() => open(url, { format: second })));
			await expectMigrated(url);
		});

		it("is brought up to date in the end, wherever those who tried before were cut off", async () => {
			const url = await made();
			for (const most of [0, 70, 100, 150]) {
				let looked = 0;
				const failing: RecordFormat = {
					...second,
					migrate(...given) {
						if (++looked > most) throw new Error("cut off");
						return second.migrate(...given);
					},
				};
				expect(await refusal(open(url, { format: failing }))).toMatchObject({ code: "store_unavailable" });
			}
			await expectMigrated(url);
		});
	});

	it("tells what the server's settings put at risk", async () => {
		expect((await open(newUrl())).warnings).toEqual([expect.stringMatching(/appendonly is no/)]);
		await client.config("SET", "appendonly", "yes");
		await client.config("SET", "maxmemory-policy", "allkeys-lru");
		expect((await open(newUrl())).warnings).toEqual([
			expect.stringMatching(/appendfsync is everysec/),
			expect.stringMatching(/maxmemory-policy is allkeys-lru/),
		]);
		await client.config("SET", "appendfsync", "always");
		await client.config("SET", "maxmemory-policy", "noeviction");
		expect((await open(newUrl())).warnings).toEqual([]);
		await client.config("SET", "appendonly", "no");
	});

	it("looks itself over", async () => {
		const store = await open(newUrl());
		await commit(store, 0, [put("a", "x".repeat(100_000))]);
		const { facts, bytes, problems } = (await store.checkUp?.()) ?? { facts: {}, bytes: 0, problems: [] };
		expect(facts).toMatchObject({
			server: expect.stringMatching(/^(?:redis|valkey) \d+\.\d+\.\d+/),
			mode: "standalone",
			library: `version ${LIBRARY_VERSION} (${LIBRARY_HASH})`,
			format: format.format,
			appendonly: "no",
			"maxmemory-policy": "noeviction",
		});
		expect(bytes).toBeGreaterThan(100_000);
		expect(problems).toEqual([expect.stringMatching(/appendonly is no/)]);
		await client.config("SET", "maxmemory", "2mb");
		onTestFinished(() => client.config("SET", "maxmemory", "0").then(() => {}));
		await client.call("FUNCTION", "FLUSH");
		expect((await store.checkUp?.())?.problems.join("\n")).toMatch(
			/bytes of memory are used.*function library is missing/s,
		);
	});

	it.each([
		["notices may have been missed", "pubsub"],
		["another server may answer than before", "normal"],
	])("tells a listener when %s", async (_, connections) => {
		const store = await open(newUrl(), { partitions: 2 });
		const missed = new Promise<Notice[]>((resolve) => {
			const heard: Notice[] = [];
			store.onNotice((notice) => heard.push(notice) === 2 && resolve(heard));
		});
		await client.call("CLIENT", "KILL", "TYPE", connections);
		expect(await missed).toEqual([0, 1].map((partition) => ({ partition, queues: [], changed: [], gap: true })));
	});

	it("takes what is published and cannot be read for notices that were missed", async () => {
		const url = newUrl();
		const store = await open(url, { partitions: 2 });
		const heard: Notice[] = [];
		const next = () => new Promise<void>((resolve) => (listener = resolve));
		let listener = () => {};
		store.onNotice((notice) => {
			heard.push(notice);
			if (notice.partition === 1) listener();
		});
		const channel = `${new URL(url).searchParams.get("prefix")}notices:0`;
		const gaps = [0, 1].map((partition) => ({ partition, queues: [], changed: [], gap: true }));
		for (const message of [
			"",
			"nonsense",
			"null",
			"[]",
			'["2","1","","1",0,0]',
			'["0","soon","","1",0,0]',
			'["0","1","","1",1,0,7]',
		]) {
			const both = next();
			expect(await client.publish(channel, message)).toBe(1);
			await both;
			expect(heard.splice(0)).toEqual(gaps);
		}
	});

	it("waits while a server is demoted, and goes on when it can be written again", async () => {
		const store = await open(newUrl());
		await commit(store, 0, [put("a", "1")]);
		await client.replicaof("127.0.0.1", 1);
		const committed = commit(store, 0, [put("b", "2")]);
		const first = await Promise.race([committed, new Promise((resolve) => setTimeout(resolve, 300, "waits"))]);
		expect(first).toBe("waits");
		await client.replicaof("NO", "ONE");
		expect((await committed).results).toEqual([{ ok: true }]);
	});

	it("a database the server does not have is refused, not another one used", async () => {
		expect(await refusal(open(newUrl().replace("?", "/99?")))).toMatchObject({
			code: "store_invalid",
			message: expect.stringMatching(/no database 99/),
		});
	});

	it("stores of the same prefix in two databases do not hear each other", async () => {
		const url = newUrl();
		const [one, two] = [await open(url), await open(url.replace("?", "/1?"))];
		const again = await open(url.replace("?", "/1?"));
		const heard: string[] = [];
		const both = new Promise<void>((resolve) => {
			again.onNotice(({ queues }) => heard.push(...queues) && queues.includes("end") && resolve());
		});
		await commit(one, 0, [{ ...put("a", ""), indexAdded: [entry("elsewhere", 1, "a")] }]);
		await commit(two, 0, [{ ...put("a", ""), indexAdded: [entry("end", 1, "a")] }]);
		await both;
		expect(heard).toEqual(["end"]);
	});

	it("on a server that is full is still read, and written by all that does not start work", async () => {
		const store = await open(newUrl());
		await commit(store, 0, [{ ...put("a", "x"), indexAdded: [entry("q", 1, "a")] }]);
		const { time } = await store.read(0, []);
		await client.config("SET", "maxmemory", "1");
		onTestFinished(async () => void (await client.config("SET", "maxmemory", "0")));
		expect((await store.read(0, ["a"])).records).toMatchObject([{ doc: "x" }]);
		expect((await store.first(0, "q", 1)).entries).toEqual([{ key: "a", score: 1 }]);
		const batch = { engine: "full", at: time, units: [put("b", "")] };
		const starting = store.commit(0, { ...batch, number: 1, startsWork: true });
		await expect(starting).rejects.toMatchObject({ applied: "no", message: expect.stringMatching(/OOM/) });
		expect(await store.commit(0, { ...batch, number: 2 })).toMatchObject({ results: [{ ok: true }] });
	});

	it("a walk over records does not show what was removed while it looked", async () => {
		const store = await open(newUrl(), { partitions: 1 });
		const { commit: version } = await commit(store, 0, [put("gone", "x"), put("there", "x")]);
		const read = store.read.bind(store);
		store.read = async (partition, keys) => {
			store.read = read;
			await commit(store, 0, [unitOf({ expected: [["gone", version]], removed: ["gone"] })]);
			return read(partition, keys);
		};
		const { records } = await store.scan(0, undefined, 100);
		expect(records.map(({ key }) => key)).toEqual(["there"]);
	});

	it("goes on when every connection was cut", async () => {
		const store = await open(newUrl());
		for (let n = 0; n < 5; n++) {
			const calls = Array.from({ length: 20 }, (_, each) => commit(store, each % 8, [put(`${n}-${each}`, "")]));
			await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
			for (const { results } of await Promise.all(calls)) expect(results).toEqual([{ ok: true }]);
		}
	});

	it("a server that is not there is refused, naming it", async () => {
		const error = await refusal(
			openValkeyStore("valkey://127.0.0.1:1", { format }, { ...realPatience, connectMs: 3000 }),
		);
		expect(error).toMatchObject({
			code: "store_unavailable",
			message: expect.stringMatching(/127\.0\.0\.1:1.*ECONNREFUSED/),
		});
	});

	describe("of a cluster", () => {
		it("is refused without ?cluster=true, and one server with it", async () => {
			const cluster = await sharedCluster();
			const node = cluster.url.replace("?cluster=true", "");
			expect(await refusal(open(node))).toMatchObject({
				code: "store_invalid",
				message: expect.stringMatching(/cluster=true/),
			});
			expect(await refusal(open(`${server.url}?cluster=true`))).toMatchObject({
				code: "store_invalid",
				message: expect.stringMatching(/leave out/),
			});
		});

		it("is opened although it is slow to tell who has which slots", async () => {
			const { primaries } = await sharedCluster();
			const slow = await slowFrom(/CLUSTER/i, primaries[0]?.port ?? 0);
			let pauses = 0;
			const pause = async (ms: number) => {
				pauses += 1;
				await realPatience.pause(ms);
			};
			const url = `valkey://127.0.0.1:${slow}?cluster=true&prefix=${randomUUID()}`;
			const store = await openValkeyStore(url, { format }, { ...realPatience, pause });
			onTestFinished(() => store.close());
			expect(pauses).toBeGreaterThan(0);
			expect(await commit(store, 0, [put("a", "")])).toMatchObject({ results: [{ ok: true }] });
		});

		it("is used although a node named first is not in it, or no longer", async () => {
			const { primaries } = await sharedCluster();
			const folder = await mkdtemp(join(tmpdir(), "flowfabric-outsider-"));
			const busPort = String(await freePort());
			const outsider = await launch({ folder, settings: ["--cluster-enabled", "yes", "--cluster-port", busPort] });
			onTestFinished(async () => {
				await outsider.end();
				await rm(folder, { recursive: true });
			});
			const hosts = `127.0.0.1:${outsider.port},127.0.0.1:${primaries[1]?.port}`;
			const store = await open(`valkey://${hosts}?cluster=true&prefix=${randomUUID()}`);
			for (let n = 0; n < 3; n++) {
				for (const { url } of primaries) {
					const admin = new Redis(url);
					await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
					admin.disconnect();
				}
				for (let partition = 0; partition < 8; partition++) {
					expect((await commit(store, partition, [put(`${n}`, "")])).results).toEqual([{ ok: true }]);
				}
			}
		});

		it("is refused at once to a user that may not ask who has which slots", async () => {
			const { primaries } = await sharedCluster();
			const admin = new Redis(primaries[0]?.port ?? 0);
			onTestFinished(() => admin.disconnect());
			await admin.call("ACL", "SETUSER", "blind", "on", ">x", "~*", "&*", "+@all", "-cluster|slots");
			const url = `valkey://blind:x@127.0.0.1:${primaries[0]?.port}?cluster=true&prefix=${randomUUID()}`;
			const pause = () => Promise.reject(new Error("was waited for"));
			expect(await refusal(openValkeyStore(url, { format }, { ...realPatience, pause }))).toMatchObject({
				code: "store_unavailable",
				message: expect.stringMatching(/NOPERM.*cluster\|slots/),
			});
		});

		it("is reached through any node that is there, and looks itself over", async () => {
			const cluster = await sharedCluster();
			const [, second] = cluster.primaries;
			const url = `valkey://127.0.0.1:1,127.0.0.1:${second?.port}?cluster=true&prefix=${randomUUID()}`;
			const store = await open(url);
			for (let partition = 0; partition < 8; partition++) await commit(store, partition, [put("a", "")]);
			const checkUp = await store.checkUp?.();
			expect(checkUp?.facts).toMatchObject({ mode: "cluster" });
			for (const { port } of cluster.primaries) expect(checkUp?.facts["primaries"]).toContain(`:${port}`);
			expect(checkUp?.problems).toEqual([expect.stringMatching(/^appendonly is no/)]);
		});
	});
});
