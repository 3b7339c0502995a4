import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DependencyReconciler } from "../../src/engine/flows/dependency-reconciler.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import { openStoreAt } from "../../src/library/open.ts";
import { runHere, Stage } from "./stage.ts";

describe("doctor of a store", () => {
	let folder: string;
	let file: string;
	let ids: string[];
	beforeEach(async () => {
		folder = await mkdtemp(join(tmpdir(), "flowfabric-doctor-"));
		file = join(folder, "store.db");
		const ff = await FlowFabric.open(`sqlite:${file}`, { partitions: 2 });
		ids = [];
		for (let n = 0; n < 6; n++) ids.push((await ff.submit("job", { n })).id);
		await ff.submit("job", {}, { idempotencyKey: "k", delayMs: 3_600_000 });
		await ff.close();
	});
	afterEach(() => rm(folder, { recursive: true }));

	const doctor = async (...flags: string[]) => {
		const { code, out } = await runHere(["doctor", "--store", `sqlite:${file}`, "--json", ...flags]);
		const findings = JSON.parse(out) as { facts: Record<string, unknown>; problems: string[]; mended?: string[] };
		return { code, ...findings };
	};
	const tamper = (sql: string, ...values: unknown[]) => {
		const db = new BetterSqlite3(file);
		const { changes } = db.prepare(sql).run(...values);
		db.close();
		expect(changes).toBeGreaterThan(0);
	};

	test("a healthy one: what is in it, and that nothing is wrong", async () => {
		const { code, facts, problems } = await doctor();
		expect(problems).toEqual([]);
		expect(code).toBe(0);
		expect(facts).toMatchObject({
			partitions: 2,
			synchronous: "FULL",
			journal: "wal",
			executions: { waiting: 6, delayed: 1 },
			"corrupt records": 0,
			"index drift": { missing: 0, stale: 0 },
		});
		expect(facts["records"]).toMatchObject({ execution: 7, idempotencyKey: 1 });
		expect(facts["bytes per execution"]).toBeGreaterThan(100);
		const { out } = await runHere(["doctor", "--store", `sqlite:${file}`]);
		expect(out).toMatch(/^executions +.*waiting 6/m);
		expect(out).toMatch(/Nothing is wrong\.\n$/);
	});

	test("a keyring that was written by halves is told of, its secrets are not", async () => {
		const doc = JSON.stringify({ current: "k2", keys: [{ kid: "k1", secretHex: "5ec2e7" }] });
		tamper("UPDATE record SET doc = ? WHERE key = 'keyring'", doc);
		const { code, problems } = await doctor();
		expect(problems).toEqual(["record keyring in partition 0: keys holds a key without a usable secret"]);
		expect(code).not.toBe(0);
		const ff = await FlowFabric.open(`sqlite:${file}`, { onFault: () => {} });
		await ff.close();
		expect((await doctor()).problems).toEqual([]);
	});

	test("flows, which must be what their members say; a running engine finds the same", async () => {
		const ff = await FlowFabric.open(`sqlite:${file}`);
		const nodes = ["a", "b", "c"].map((key) => ({ key, kind: "job" }));
		const { id, nodes: members } = await ff.backend.flows.create({ nodes, edges: [{ from: "a", to: "b" }] });
		await ff.close();
		expect(await doctor()).toMatchObject({ code: 0, problems: [], facts: { flows: 1 } });

		const [member = ""] = Object.values(members);
		// A member that cannot be read is told of, and nothing is said of its flow.
		tamper("UPDATE record SET doc = '!' || doc WHERE key = ?", member);
		expect((await doctor()).problems).toEqual([expect.stringContaining(`record ${member} in partition`)]);
		tamper("UPDATE record SET doc = substr(doc, 2) WHERE key = ?", member);

		tamper("UPDATE record SET doc = json_set(doc, '$.states', json('{\"waiting\":3}')) WHERE key = ?", `${id}/p`);
		const told = `flow ${id} counts {"waiting":3} of members that are {"waiting":2,"waiting_children":1}`;
		expect(await doctor()).toMatchObject({ code: 1, problems: [told] });
		const again = await FlowFabric.open(`sqlite:${file}`);
		const { runners, kernel } = (again.backend as LocalBackend).engine;
		const found: string[] = [];
		const reconciler = new DependencyReconciler({
			runners,
			kernel,
			isOurs: () => true,
			onFound: (problems) => found.push(...problems),
		});
		expect(await reconciler.runOnce([...runners.keys()], [])).toBe(1);
		expect(found).toEqual([told]);
		await again.close();
	});

	test("streams, in order and in their places; what of one cannot be read hides no other frame", async () => {
		const open = () => FlowFabric.open(`sqlite:${file}`, { onFault: ({ subjects }) => faults.push(...subjects) });
		const faults: string[] = [];
		const ff = await open();
		const [claimed] = await ff.backend.leases.claim({ workerId: "w", instanceId: "w", leaseMs: 3_600_000 });
		const { id = "", lease } = claimed ?? {};
		const fence = { leaseId: lease?.id ?? "", epoch: lease?.epoch ?? 0 };
		const frames = [{ text: "a" }, { mode: "summary" as const, patch: { n: 1 } }];
		for (let n = 0; n < 3; n++) await ff.backend.leases.appendFrames(id, { fence, frames });
		await ff.close();
		const { code, facts, problems } = await doctor();
		expect({ code, problems }).toEqual({ code: 0, problems: [] });
		expect(facts["records"]).toMatchObject({ stream: 1, summary: 1 });
		expect(facts["stream frames"]).toBe(6);

		tamper("UPDATE blob SET bytes = x'00' WHERE key = ?", `${id}/f0.1`);
		expect(await doctor()).toMatchObject({
			code: 1,
			problems: [`bytes ${id}/f0.1 are no frames`],
			facts: { "stream frames": 5 },
		});
		const torn = await open();
		expect((await torn.streams.read(id, 0)).frames.map(({ mode }) => mode)).toHaveLength(5);
		expect(faults).toEqual([`${id}/f0.1`]);
		await torn.close();

		tamper("UPDATE record SET doc = json_set(doc, '$.durable.groups', 7) WHERE key = ?", `${id}/h0`);
		expect((await doctor()).problems.join("\n")).toMatch(new RegExp(`${id}/h0 .*: durable must be an object`));
		tamper("UPDATE record SET doc = json_set(doc, '$.durable', 7) WHERE key = ?", `${id}/h0`);
		expect((await doctor()).problems.join("\n")).toMatch(
			new RegExp(`${id}/h0 .*: durable must be an object, is a number`),
		);
		const again = await open();
		const refused = { code: "corrupt_record", details: { field: "durable" } };
		await expect(again.streams.read(id, 0)).rejects.toMatchObject(refused);
		await expect(again.backend.leases.appendFrames(id, { fence, frames })).rejects.toMatchObject(refused);
		expect((await again.get(id)).publicState).toBe("active");
		await again.close();
	});

	test("frames that are gone: in the middle, at the end, all of them; not those that were trimmed", async () => {
		const ff = await FlowFabric.open(`sqlite:${file}`);
		const policy = { stream: { maxFrames: 3 } };
		for (const name of ["middle", "end", "all", "trimmed"]) await ff.submit("talk", {}, { policy, tags: { name } });
		const claimed = await ff.backend.leases.claim({ workerId: "w", instanceId: "w", kinds: ["talk"], max: 4 });
		const idOf: Record<string, string> = {};
		for (const { id, lease, tags } of claimed) {
			idOf[tags["name"] ?? ""] = id;
			const appends = tags["name"] === "trimmed" ? 200 : 3;
			for (let n = 0; n < appends; n++)
				await ff.backend.leases.appendFrames(id, {
					fence: { leaseId: lease.id, epoch: lease.epoch },
					frames: [{ text: "a" }],
				});
		}
		await ff.close();
		expect((await doctor()).problems).toEqual([]);
		tamper("DELETE FROM blob WHERE key = ?", `${idOf["middle"]}/f0.1`);
		tamper("DELETE FROM blob WHERE key = ?", `${idOf["end"]}/f0.2`);
		tamper("DELETE FROM blob WHERE key LIKE ?", `${idOf["all"]}/f0.%`);
		const { code, problems } = await doctor();
		expect(problems.sort()).toEqual(
			[
				`stream ${idOf["middle"]}/h0 lacks durable frames 2 to 2`,
				`stream ${idOf["end"]}/h0 lacks durable frames 3 to 3`,
				`stream ${idOf["all"]}/h0 lacks durable frames 1 to 3`,
			].sort(),
		);
		expect(code).toBe(1);
	});

	test("budgets and quotas with all that belongs to them, in order and in their places", async () => {
		const ff = await FlowFabric.open(`sqlite:${file}`);
		for (const id of ["team", "other"]) {
			await ff.budgets.create({ id, dimensions: { tokens: { hard: 10 } }, resetEvery: "daily" });
			await ff.budgets.usage(id, { dims: { tokens: 3 }, executionId: ids[0] as string, dedupKey: "k" });
			await ff.budgets.usage(id, { dims: { tokens: 30 } });
		}
		await ff.quotas.create({ id: "openai", rate: { max: 1, windowMs: 5 }, concurrency: 1 });
		await ff.close();
		const { code, facts, problems } = await doctor();
		expect({ code, problems }).toEqual({ code: 0, problems: [] });
		expect(facts["records"]).toMatchObject({ budget: 2, quota: 1, ledgerEntry: 2, usageKey: 2 });
		tamper("UPDATE record SET doc = json_set(doc, '$.used', 7) WHERE key = 'budget:default,team'");
		expect((await doctor()).problems.join("\n")).toContain("budget:default,team");
		const again = await FlowFabric.open(`sqlite:${file}`);
		await expect(again.budgets.get("team")).rejects.toMatchObject({
			code: "corrupt_record",
			details: { field: "used" },
		});
		expect((await again.budgets.list()).budgets.map(({ id }) => id)).toEqual(["other"]);
		await expect(again.submit("job", {}, { budgets: ["team"] })).rejects.toMatchObject({ code: "corrupt_record" });
		const items = await again.submitMany(["team", "other"].map((id) => ({ kind: "job", budgets: [id] })));
		expect(items.map(({ ok }) => ok)).toEqual([false, true]);
		await again.close();
	});

	test("corrupt records by key and field", async () => {
		tamper("UPDATE record SET doc = json_set(doc, '$.priority', 'high') WHERE key = ?", ids[0]);
		tamper("UPDATE record SET doc = '{' WHERE key = ?", ids[1]);
		const { code, facts, problems } = await doctor();
		expect(facts["corrupt records"]).toBe(2);
		expect(problems.join("\n")).toMatch(
			new RegExp(`record ${ids[0]} in partition \\d: priority must be a number, is a string`),
		);
		expect(problems.join("\n")).toMatch(new RegExp(`record ${ids[1]} in partition \\d: is not a JSON object`));
		expect(code).toBe(1);
	});

	test("events that cannot be read, by their names", async () => {
		tamper("UPDATE event SET body = '{' WHERE owner = ?", ids[0]);
		tamper("UPDATE event SET at = 'abc' WHERE owner = ?", ids[1]);
		const { code, facts, problems } = await doctor();
		expect(facts["events"]).toBe(7);
		expect(problems).toHaveLength(2);
		const text = problems.join("\n");
		expect(text).toMatch(new RegExp(`event \\d+-\\d+ of ${ids[0]} in partition \\d: is not a JSON object`));
		expect(text).toMatch(new RegExp(`event \\d+-\\d+ of ${ids[1]} in partition \\d: at must be a number, is a string`));
		expect(code).toBe(1);
	});

	test("payloads whose bytes are gone, or are not what they were", async () => {
		const ff = await FlowFabric.open(`sqlite:${file}`);
		const big = "x".repeat(30_000);
		const { id } = await ff.submit("large", big);
		const [claimed] = await ff.backend.leases.claim({ workerId: "w", instanceId: "w", kinds: ["large"] });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		await ff.backend.leases.recordStep(id, { fence, name: "s", index: 0, result: big, startedAt: 0 });
		await ff.backend.leases.complete(id, { fence, result: big });
		await ff.close();
		expect((await doctor()).problems).toEqual([]);
		tamper("DELETE FROM blob WHERE key LIKE ?", `${id}/r%`);
		tamper("DELETE FROM blob WHERE key LIKE ?", `${id}/p%`);
		tamper("UPDATE blob SET bytes = x'00' WHERE key = ?", `${id}/in`);
		const { code, problems } = await doctor();
		expect(problems.sort()).toEqual([
			`record ${id}/p0.0.s: the bytes ${id}/p1.0.s of its result are not there`,
			`record ${id}: the bytes ${id}/in of its input are 1, and should be 30002`,
			`record ${id}: the bytes ${id}/r1 of its result are not there`,
		]);
		expect(code).toBe(1);
		tamper("UPDATE blob SET bytes = 'hello' WHERE key = ?", `${id}/in`);
		expect((await doctor()).problems.join("\n")).toContain(`the bytes ${id}/in of its input are not there`);
		const again = await FlowFabric.open(`sqlite:${file}`);
		await expect(again.backend.executions.input(id)).rejects.toMatchObject({ code: "corrupt_record" });
		await again.close();
	});

	test.each([
		["UPDATE meta SET value = 'x' WHERE name = 'partitions'", "partitions: must be an integer of 1 to 256"],
		["UPDATE meta SET value = 'x' WHERE name = 'format'", "format: must be an integer"],
		["DELETE FROM head WHERE partition = 1", "head: the row of partition 1 is missing"],
		["UPDATE head SET time = 'abc'", "time: of partition 0 must be an integer"],
		["UPDATE head SET commits = 0", "commits: of partition 0 are 0, but there are events of commit"],
	])("%s is refused by name, and nothing opens such a store", async (sql, told) => {
		tamper(sql);
		const { code, err } = await runHere(["doctor", "--store", `sqlite:${file}`]);
		expect(err).toContain("store_invalid");
		expect(err).toContain(`is damaged: ${told}`);
		expect(code).not.toBe(0);
		await expect(FlowFabric.open(`sqlite:${file}`)).rejects.toMatchObject({ code: "store_invalid" });
	});

	test("sizes of queues that are not what is counted; figures leave them out", async () => {
		tamper("UPDATE queue_size SET size = 'x' WHERE queue = 'list,default,default,delayed'");
		tamper("UPDATE queue_size SET size = -5 WHERE queue = 'list,default,default,waiting' AND partition = 0");
		const { code, problems } = await doctor();
		expect(problems).toHaveLength(2);
		expect(problems.join("\n")).toMatch(
			/the size of the queue list,default,default,delayed of partition \d is x, and should be 1/,
		);
		expect(code).toBe(1);
		const store = await openStoreAt(`sqlite:${file}`, { mustExist: true });
		const sizes = await Promise.all([0, 1].map((partition) => store.queueSizes(partition, "list,default,default,")));
		for (const { size } of sizes.flatMap(({ queues }) => queues)) expect(size).toBeGreaterThan(0);
		await store.close();
	});

	test("a version that is no number: its record cannot be read, and is told of", async () => {
		tamper("UPDATE record SET version = 'abc' WHERE key = ?", ids[0]);
		expect((await doctor()).problems.join("\n")).toContain(`record ${ids[0]} in partition`);
		const ff = await FlowFabric.open(`sqlite:${file}`, { onFault: () => {} });
		await expect(ff.get(ids[0] ?? "")).rejects.toMatchObject({ code: "corrupt_record" });
		await ff.close();
	});

	test("a time that a wrong clock has left behind, hours ahead", async () => {
		tamper("UPDATE head SET time = ? WHERE partition = 1", Date.now() + 7_300_000);
		const { code, problems } = await doctor();
		expect(problems).toEqual([expect.stringContaining("the time of 2 of 2 partitions is up to 2 h ahead")]);
		expect(code).toBe(1);
	});

	test("an index that is not what the records say: what is missing, what is stale", async () => {
		tamper("DELETE FROM entry WHERE key = ? AND queue LIKE 'eligible%'", ids[2]);
		tamper("UPDATE entry SET score = score + 1 WHERE key = ? AND queue LIKE 'list%'", ids[3]);
		const { code, facts, problems } = await doctor();
		expect(facts["index drift"]).toEqual({ missing: 2, stale: 1 });
		const text = problems.join("\n");
		expect(text).toMatch(new RegExp(`${ids[2]} in eligible,default,default,,job at -?\\d+ is missing`));
		expect(text).toMatch(new RegExp(`${ids[3]} in list,default,default,waiting at -?\\d+ is stale`));
		expect(text).toMatch(new RegExp(`${ids[3]} in list,default,default,waiting at -?\\d+ is missing`));
		expect(code).toBe(1);
	});

	test("with --repair the index is what the records say again, and it is told what was mended", async () => {
		tamper("DELETE FROM entry WHERE key = ? AND queue LIKE 'eligible%'", ids[2]);
		tamper("UPDATE entry SET score = score + 1 WHERE key = ? AND queue LIKE 'list%'", ids[3]);
		tamper("DELETE FROM record WHERE key = ?", ids[4]);
		expect((await doctor()).mended).toBeUndefined();
		const { code, facts, problems, mended } = await doctor("--repair");
		expect({ code, problems }).toEqual({ code: 0, problems: [] });
		expect(facts["index entries mended"]).toEqual({ added: 2, removed: 3 });
		expect(facts["index drift"]).toEqual({ missing: 0, stale: 0 });
		expect(mended).toHaveLength(5);
		expect(mended?.join("\n")).toMatch(new RegExp(`${ids[2]} in eligible,default,default,,job at -?\\d+ was missing`));
		expect(await doctor()).toMatchObject({ code: 0, facts: { "index drift": { missing: 0, stale: 0 } } });
		const ff = await FlowFabric.open(`sqlite:${file}`);
		const claimed = await ff.backend.leases.claim({ workerId: "w", instanceId: "i", max: 10 });
		expect(claimed.map(({ id }) => id).sort()).toEqual(ids.filter((id) => id !== ids[4]).sort());
		await ff.close();
		const { out } = await runHere(["doctor", "--store", `sqlite:${file}`, "--repair"]);
		expect(out).toMatch(/^index entries mended +added 0, removed 0$/m);
	});

	test("what --repair cannot mend still ends with 1, and its entries are left alone", async () => {
		tamper("UPDATE record SET doc = '{' WHERE key = ?", ids[1]);
		tamper("DELETE FROM entry WHERE key = ? AND queue LIKE 'list%'", ids[2]);
		const { code, facts, problems } = await doctor("--repair");
		expect(code).toBe(1);
		expect(problems).toHaveLength(1);
		expect(facts["index entries mended"]).toEqual({ added: 1, removed: 0 });
	});

	test("--repair of a running server is refused: it mends by itself", async () => {
		const { code, err } = await runHere(["doctor", "--repair"]);
		expect(err).toContain("--repair needs --store");
		expect(code).toBe(2);
	});

	test("a store that is not there is not made", async () => {
		const nowhere = join(folder, "nowhere.db");
		const { code, err } = await runHere(["doctor", "--store", `sqlite:${nowhere}`]);
		expect(err).toContain("there is no store here");
		expect(code).not.toBe(0);
		await expect(stat(nowhere)).rejects.toThrow("ENOENT");
	});

	test("a store somebody has open", async () => {
		const ff = await FlowFabric.open(`sqlite:${file}`);
		const { code, err } = await runHere(["doctor", "--store", `sqlite:${file}`]);
		expect(err).toContain("store_in_use");
		expect(code).toBe(1);
		await ff.close();
	});
});

describe("doctor of a server", () => {
	test("tells whether it is ready, and what is in it", async () => {
		const stage = await Stage.open();
		await stage.ff.submit("job");
		await stage.ff.backend.workers.register("w", { workerId: "w", capabilities: [], lanes: ["default"] });
		const { facts, problems } = await stage.json<{ facts: Record<string, unknown>; problems: string[] }>(["doctor"]);
		expect(problems).toEqual([]);
		expect(facts).toMatchObject({ server: stage.url, ready: "yes", lanes: 1, executions: { waiting: 1 }, workers: 1 });
		expect(facts["version"]).toMatch(/^\d+\.\d+\.\d+$/);
		const { facts: deep } = await stage.json<{ facts: Record<string, unknown> }>(["doctor", "--deep"]);
		expect(deep).toMatchObject({ partitions: 1, "corrupt records": 0, records: { execution: 1 } });
		await stage.close();
	});

	test("tells of work that no live worker takes, by lane and kind", async () => {
		const stage = await Stage.open();
		const { workers, lanes } = stage.ff.backend;
		for (const kind of ["rare", "rare", "common"]) await stage.ff.submit(kind);
		await stage.ff.submit("train", {}, { lane: "ml", requiredCapabilities: ["gpu"] });
		await stage.ff.submit("job", {}, { lane: "held" });
		await lanes.pause("held");
		await workers.register("w", { workerId: "w", capabilities: [], kinds: ["common"], lanes: ["default"] });
		const { code, out } = await stage.run(["doctor", "--json"]);
		expect(code).toBe(1);
		expect(JSON.parse(out).problems).toEqual([
			"2 executions of kind rare wait on lane default: no live worker takes kind rare on lane default",
			"1 execution of kind train waits on lane ml: no live worker offers gpu",
		]);
		await stage.close();
	});

	test("of several, names the one that does not answer and tells the rest", async () => {
		const stage = await Stage.open();
		const gone = "http://127.0.0.1:1";
		const { code, out } = await stage.run(["doctor", "--url", `${gone},${stage.url}`, "--json"]);
		expect(code).toBe(1);
		expect(JSON.parse(out)).toMatchObject({
			facts: {
				server: `${gone}, ${stage.url}`,
				"answered in ms": { [stage.url]: expect.any(Number) },
				ready: "yes",
				lanes: 0,
			},
			problems: [expect.stringContaining(`nobody answers at ${gone} (`)],
		});
		await stage.close();
	});

	test("one that is not there", async () => {
		const { code, out } = await runHere(["doctor", "--url", "http://127.0.0.1:1"]);
		expect(out).toContain("problem");
		expect(code).toBe(5);
	});
});
