import { Redis } from "iovalkey";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { partitionKeys } from "../../src/store/valkey/partition-keys.ts";
import { partitionTags } from "../../src/store/valkey/slots.ts";
import { hasValkey, startValkey, type ValkeyServer } from "../servers/valkey-server.ts";
import { runHere } from "./stage.ts";

describe.runIf(hasValkey())("doctor of a store on Valkey", () => {
	let server: ValkeyServer;
	let client: Redis;
	let ff: FlowFabric;
	const faults: string[] = [];
	beforeAll(async () => {
		server = await startValkey(["--appendonly", "yes", "--appendfsync", "always"]);
		client = new Redis(server.url);
		ff = await FlowFabric.open(server.url, { partitions: 1, onFault: ({ about }) => faults.push(about) });
		for (let n = 0; n < 50; n++) await ff.submit("job", { n });
	});
	afterAll(async () => {
		await ff.close();
		client.disconnect();
		await server.stop();
	});

	const doctor = async (...flags: string[]) => {
		const { code, out } = await runHere(["doctor", "--store", server.url, "--json", ...flags]);
		return { code, ...(JSON.parse(out) as { facts: Record<string, unknown>; problems: string[] }) };
	};

	test("a healthy one is looked over while work goes on, and nothing is wrong", async () => {
		const worker = ff.worker({ concurrency: 4, handleSignals: false });
		worker.handle("job", async () => "done");
		await worker.start();
		const submitting = Promise.all(Array.from({ length: 300 }, (_, n) => ff.submit("job", { n })));
		const { code, facts, problems } = await doctor();
		await submitting;
		await worker.stop();
		expect({ code, problems }).toEqual({ code: 0, problems: [] });
		expect(faults).toEqual([]);
		expect(facts).toMatchObject({
			mode: "standalone",
			appendonly: "yes",
			appendfsync: "always",
			"maxmemory-policy": "noeviction",
			partitions: 1,
			"corrupt records": 0,
			"index drift": { missing: 0, stale: 0 },
		});
		expect(facts["bytes per execution"]).toBeGreaterThan(100);
		expect(facts["library"]).toMatch(/^version \d+ \([0-9a-f]{16}\)$/);
	});

	test("what is corrupt, missing or stale is told, and what the set-up puts at risk", async () => {
		const keys = partitionKeys("ff", partitionTags(1)[0] as number);
		const { id } = await ff.submit("job", {}, { delayMs: 3_600_000 });
		const other = await ff.submit("job", {}, { delayMs: 3_600_000 });
		await client.set(keys.record(other.id), "{");
		const [first] = await client.zrange(keys.queue("due"), "0", "0");
		await client.zrem(
			keys.queue("due"),
			...(await client.zrange(keys.queue("due"), 0, -1)).filter((e) => e.startsWith(id)),
		);
		await client.zadd(keys.queue("due"), 5, `${"x".repeat(40)}\u00005`);
		await client.config("SET", "appendfsync", "everysec");
		const { code, problems } = await doctor();
		expect(first).toBeDefined();
		expect(code).toBe(1);
		const told = problems.join("\n");
		expect(told).toMatch(/appendfsync is everysec/);
		expect(told).toContain(`record ${other.id} in partition 0`);
		expect(told).toMatch(new RegExp(`${id} in due at \\d+ is missing`));
		expect(told).toMatch(/x{40} in due at 5 is stale/);
		// While its engine goes on; what it cannot read it leaves alone.
		expect((await doctor("--repair")).facts).toMatchObject({
			"index drift": { missing: 0, stale: 0 },
			"index entries mended": { added: 1, removed: 1 },
		});
		expect((await doctor()).facts).toMatchObject({ "index drift": { missing: 0, stale: 0 }, "corrupt records": 1 });
	});

	test("a time that a wrong clock has left behind, hours ahead", async () => {
		const { header } = partitionKeys("ff", partitionTags(1)[0] as number);
		await client.hset(header, "time", Date.now() + 7_300_000);
		const { problems } = await doctor();
		expect(problems).toContainEqual(expect.stringContaining("the time of 1 of 1 partitions is up to 2 h ahead"));
	});
});
