import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Execution } from "../../src/index.ts";
import { runHere, Stage } from "./stage.ts";

const ID = /ex_[0-9a-f]{32}_\d+/;
const UNKNOWN = `ex_${"0".repeat(32)}_0`;

let stage: Stage;
let folder: string;
beforeAll(async () => {
	stage = await Stage.open();
	folder = await mkdtemp(join(tmpdir(), "flowfabric-cli-"));
	const worker = stage.ff.worker({ lanes: ["work"], handleSignals: false, workerId: "tester", instanceId: "tester-1" });
	worker.handle("echo", (_ctx, input) => input);
	worker.handle("fail", () => {
		throw new Error("the disk is full");
	});
	worker.handle("steps", async (ctx) => {
		await ctx.progress({ percent: 40, message: "nearly half" });
		await new Promise<void>((resolve) => {
			proceed = resolve;
			reached();
		});
		return "done";
	});
	await worker.start();
});
afterAll(async () => {
	await stage.close();
	await rm(folder, { recursive: true });
});

let proceed = () => {};
let reached = () => {};

const submit = async (args: readonly string[], stdin?: string | Uint8Array): Promise<Execution> => {
	const { id } = await stage.json<{ id: string }>(["submit", ...args], stdin === undefined ? {} : { stdin });
	return stage.ff.get(id);
};
const inputOf = async ({ id }: Execution) => {
	const input = await stage.ff.backend.executions.input(id);
	return input && { text: Buffer.from(input.bytes).toString(), contentType: input.contentType };
};

describe("submit", () => {
	test("prints the id and nothing else, for the shell", async () => {
		const { code, out, err } = await stage.run(["submit", "thing", '{"a": [1, 2]}']);
		expect(out).toMatch(new RegExp(`^${ID.source}\n$`));
		expect({ code, err }).toEqual({ code: 0, err: "" });
		expect(await inputOf(await stage.ff.get(out.trim()))).toEqual({
			text: '{"a":[1,2]}',
			contentType: "application/json",
		});
	});

	test("every flag arrives", async () => {
		const execution = await submit([
			...["thing", "1", "--lane", "slow", "--namespace", "team-a", "--priority", "7", "--delay", "1h"],
			...["--policy", '{"retry": {"maxRetries": 2}}', "--tag", "customer=acme", "--tag", "region=eu"],
			...["--capability", "gpu", "--capability", "eu", "--fairness-key", "acme", "--created-by", "ann"],
		]);
		expect(execution).toMatchObject({
			lane: "slow",
			namespace: "team-a",
			priority: 7,
			publicState: "delayed",
			policy: { retry: { maxRetries: 2 } },
			tags: { customer: "acme", region: "eu" },
			requiredCapabilities: ["eu", "gpu"],
			createdBy: "ann",
		});
		const at = Math.ceil(Date.now() / 1000) * 1000 + 86_400_000;
		const later = await submit(["thing", "--lane", "nobody", "--not-before", new Date(at).toISOString()]);
		expect(later.delayUntil).toBe(at);
	});

	test("the same key gives the same execution, and says so", async () => {
		const first = await stage.run(["submit", "thing", "--idempotency-key", "once"]);
		const again = await stage.run(["submit", "thing", "--idempotency-key", "once"]);
		expect(again.out).toBe(`${first.out.trim()} (was there already)\n`);
		const other = await stage.run(["submit", "thing", "2", "--idempotency-key", "once"]);
		expect(other.code).toBe(4);
		expect(other.err).toContain("idempotency_conflict");
	});

	test("text, a file, standard input, and bytes that are no text", async () => {
		expect(await inputOf(await submit(["thing", "just words", "--text"]))).toEqual({
			text: "just words",
			contentType: "text/plain",
		});
		await writeFile(join(folder, "input.json"), '{"from": "a file"}');
		expect(await inputOf(await submit(["thing", "--input-file", join(folder, "input.json")]))).toMatchObject({
			text: '{"from":"a file"}',
		});
		expect(await inputOf(await submit(["thing", "-"], '{"from": "a pipe"}'))).toMatchObject({
			text: '{"from":"a pipe"}',
		});
		const bytes = new Uint8Array([0, 255, 128, 10]);
		const { id } = await submit(["thing", "-", "--content-type", "image/png"], bytes);
		const stored = await stage.ff.backend.executions.input(id);
		expect(stored?.contentType).toBe("image/png");
		expect([...(stored?.bytes ?? [])]).toEqual([...bytes]);
	});

	test.each([
		[["submit", "thing", "{not json"], /input: must be JSON; use --text/],
		[["submit", "thing", "--delay", "5"], /--delay.*needs a unit: 5s, 5m or 5h\?/],
		[["submit", "thing", "--dealy", "5s"], /unknown option '--dealy' \(Did you mean --delay\?\)/],
		[["submit", "thing", "--delay", "5s", "--not-before", "2099-01-01"], /choose one/],
		[["submit", "thing", "--not-before", "tomorrow"], /--not-before.*must be a time such as/],
		[["submit", "thing", "--delay", "soon"], /--delay.*must be a duration such as/],
		[["submit", "thing", "--priority", "high"], /--priority.*must be an integer/],
		[["submit", "thing", "1", "--input-file", "x"], /not both/],
		[["submit", "thing", "--input-file", "/nowhere"], /\/nowhere cannot be read \(ENOENT\)/],
		[["submit", "thing", "--tag", "novalue"], /--tag.*must be key=value/],
		[["submit", "thing", "--polizy", "1"], /unknown option '--polizy'/],
		[["submit"], /missing required argument 'kind'/],
		[["submit", "thing", "--namespace", "a b"], /namespace: must be 1 to 64 characters/],
	])("%j is misuse, told in one line", async (args, problem) => {
		const { code, out, err } = await stage.run(args);
		expect(err).toMatch(problem);
		expect(err.trim().split("\n")).toHaveLength(1);
		expect({ code, out }).toEqual({ code: 2, out: "" });
	});

	test("--wait says how it ended, and the exit code does too", async () => {
		const good = await stage.run(["submit", "echo", '{"x": 1}', "--lane", "work", "--wait"]);
		expect(good.out).toMatch(new RegExp(`^${ID.source} completed after .*: {"x":1}\n$`));
		expect(good.code).toBe(0);
		const bad = await stage.run(["submit", "fail", "--lane", "work", "--wait"]);
		expect(bad.out).toMatch(/ failed after .*: the disk is full\n$/);
		expect(bad.code).toBe(6);
	});
});

describe("get", () => {
	test("says first how it is and why it is not running", async () => {
		const { id } = await submit(["thing", "--lane", "nobody"]);
		const { out } = await stage.run(["get", id]);
		const lines = out.split("\n");
		expect(lines[0]).toMatch(new RegExp(`^id +${id}$`));
		expect(lines[2]).toMatch(/^state +waiting$/);
		expect(lines[3]).toMatch(/^why +no live worker takes kind thing on lane nobody$/);
		expect(out).toMatch(/^created +(?:now|[\d.]+ s ago) \(\d{4}-\d\d-\d\dT[\d:.]+Z\) by /m);
	});

	test("shows where a failure was thrown, and so does explain", async () => {
		const { id } = await submit(["fail", "--lane", "work"]);
		await stage.ff.wait(id);
		for (const command of ["get", "explain"]) {
			const { out } = await stage.run([command, id]);
			expect(out).toMatch(/^ +Error: the disk is full\n +at .*commands\.test\.ts/m);
		}
	});

	test("times are relative and absolute", async () => {
		const { id } = await submit(["thing", "--delay", "90m"]);
		const { out } = await stage.run(["get", id]);
		expect(out).toMatch(/^until +in 1 h \(\d{4}-.*Z\)$/m);
		expect(out).toMatch(/^why +delayed until \d{4}-/m);
	});

	test("input and result are the very bytes", async () => {
		const { id } = await submit(["echo", "héllo\n", "--text", "--lane", "work"]);
		await stage.ff.wait(id);
		expect((await stage.run(["get", id, "--input"])).out).toBe("héllo\n");
		expect((await stage.run(["get", id, "--result"])).out).toBe('"héllo\\n"');
		expect(await stage.json(["get", id, "--input", "--result"])).toMatchObject({
			id,
			publicState: "completed",
			input: "héllo\n",
			result: "héllo\n",
		});
	});

	test("what is not there, not ready, or no id at all", async () => {
		const { id } = await submit(["thing", "--lane", "nobody"]);
		expect(await stage.run(["get", UNKNOWN])).toEqual({
			code: 3,
			out: "",
			err: "flowfabric: no such execution (execution_not_found)\n",
		});
		expect((await stage.run(["get", id, "--result"])).code).toBe(4);
		expect((await stage.run(["get", "ex_1"])).code).toBe(2);
	});

	test("with --json an error is a document too", async () => {
		const { code, out, err } = await stage.run(["get", UNKNOWN, "--json"]);
		expect(out).toBe("");
		expect(JSON.parse(err)).toMatchObject({ error: { code: "execution_not_found", retryable: false }, exitCode: code });
	});

	test("what others wrote cannot move the cursor", async () => {
		const { id } = await stage.ff.submit("evil\u001b[2Jkind\nname", undefined, { lane: "nobody" });
		const { out } = await stage.run(["get", id]);
		expect(out).toMatch(/^kind +evil\\u001b\[2Jkind name$/m);
	});
});

describe("list", () => {
	test("a table, newest first, cut into pages", async () => {
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) ids.unshift((await submit(["thing", "--lane", "listed"])).id);
		const page = await stage.run(["list", "--lane", "listed", "--limit", "2"]);
		const [head, ...rows] = page.out.trimEnd().split("\n");
		expect(head).toMatch(/^STATE +WHY +KIND +ID +CREATED +LANE +PRI$/);
		expect(rows.map((row) => ID.exec(row)?.[0])).toEqual(ids.slice(0, 2));
		const cursor = /--cursor (\S+),/.exec(page.err)?.[1] ?? "";
		const next = await stage.json<{ executions: Execution[] }>([
			"list",
			"--lane",
			"listed",
			"--limit",
			"2",
			"--cursor",
			cursor,
		]);
		expect(next.executions.map(({ id }) => id)).toEqual(ids.slice(2, 4));
		const all = await stage.run(["list", "--lane", "listed", "--limit", "2", "--all", "--json"]);
		expect(
			all.out
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line).id),
		).toEqual(ids);
		expect(all.err).toBe("");
	});

	test("filters", async () => {
		const { id } = await submit(["rare", "--lane", "filtered", "--tag", "colour=green"]);
		await submit(["other", "--lane", "filtered"]);
		const listed = async (...flags: string[]) =>
			(await stage.json<{ executions: Execution[] }>(["list", "--lane", "filtered", ...flags])).executions.map(
				(each) => each.id,
			);
		expect(await listed("--kind", "rare")).toEqual([id]);
		expect(await listed("--tag", "colour=green")).toEqual([id]);
		expect(await listed("--state", "completed")).toEqual([]);
		expect(await listed("--created-after", "1h")).toHaveLength(2);
		expect(await listed("--created-before", "1h")).toEqual([]);
		expect((await stage.run(["list", "--state", "sleeping"])).code).toBe(2);
	});
});

describe("wait and events", () => {
	test("a time that is over is an exit code of its own", async () => {
		const { id } = await submit(["thing", "--lane", "nobody"]);
		const { code, out } = await stage.run(["wait", id, "--timeout", "10ms"]);
		expect(out).toBe(`${id} is still waiting: no live worker takes kind thing on lane nobody\n`);
		expect(code).toBe(7);
	});

	test("a person sees how far it is; standard output has the end only", async () => {
		const arrived = new Promise<void>((resolve) => (reached = resolve));
		const { id } = await submit(["steps", "--lane", "work"]);
		await arrived;
		const shown = "active [██████████░░░░░░░░░░░░░░] 40 % nearly half";
		const { out, code } = await stage.run(["wait", id], {
			tty: true,
			env: { NO_COLOR: "1" },
			onErr: (all) => all.includes(shown) && proceed(),
		});
		expect(out).toMatch(/completed after .*: "done"\n$/);
		expect(code).toBe(0);
	});

	test("events, one a line, and followed to the end", async () => {
		const arrived = new Promise<void>((resolve) => (reached = resolve));
		const { id } = await submit(["steps", "--lane", "work"]);
		await arrived;
		const past = await stage.run(["events", id]);
		expect(
			past.out
				.trimEnd()
				.split("\n")
				.map((line) => line.split(/ +/)[3]),
		).toEqual(["created", "claimed"]);
		expect(past.out).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z +\+0\.000 s +created +by /);
		expect(past.out).toMatch(/claimed +attempt 0, by tester-1/);
		const followed = stage.run(["events", id, "--follow", "--json"], {
			onOut: (all) => all.includes('"claimed"') && proceed(),
		});
		const { out } = await followed;
		expect(
			out
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line).type),
		).toEqual(["created", "claimed", "completed"]);
	});
});

describe("cancel and replay", () => {
	test("what waits is cancelled at once, and can be replayed", async () => {
		const { id } = await submit(["thing", "--lane", "nobody"]);
		expect((await stage.run(["cancel", id, "--reason", "not needed"])).out).toBe(`${id} cancelled\n`);
		expect((await stage.run(["get", id])).out).toMatch(/^cancel +not needed; by operator, (?:now|[\d.]+ s ago) \(/m);
		expect((await stage.run(["replay", id])).out).toBe(`${id} waiting (replay 1)\n`);
		const refused = await stage.run(["replay", id]);
		expect(refused.code).toBe(4);
		expect(refused.err).toContain("execution_not_terminal");
	});

	test("what runs is asked to stop, or taken away", async () => {
		const arrived = new Promise<void>((resolve) => (reached = resolve));
		const { id } = await submit(["steps", "--lane", "work"]);
		await arrived;
		expect((await stage.run(["cancel", id, "--grace", "1h"])).out).toBe(`${id}: its worker was asked to stop\n`);
		expect(await stage.json(["cancel", id, "--force"])).toMatchObject({ id, publicState: "cancelled" });
		proceed();
	});
});

describe("steps", () => {
	test("are shown with how long they took, and kept in a replay that is asked to", async () => {
		const { id } = await submit(["thing", "--lane", "stepped"]);
		expect((await stage.run(["get", id, "--steps"])).err).toContain("No step is recorded.");
		const { leases } = stage.ff.backend;
		const [claimed] = await leases.claim({ workerId: "w", instanceId: "w-1", lanes: ["stepped"] });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		const startedAt = Date.now() + 60_000;
		await leases.recordStep(id, { fence, name: "fetch", index: 0, result: "page", startedAt });
		await leases.recordStep(id, { fence, name: "fetch", index: 1, error: { reason: "no\nroute" }, startedAt });
		await leases.complete(id, { fence });

		const shown = await stage.run(["get", id, "--steps"]);
		expect(shown.out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
			["STEP", "ATTEMPT", "TOOK", "BYTES", "ERROR"],
			["fetch", "0", "0 ms", "6"],
			["fetch #1", "0", "0 ms", "0", "no route (error)"],
			[""],
		]);
		expect(await stage.json(["get", id, "--steps"])).toMatchObject({ id, steps: [{ name: "fetch" }, { index: 1 }] });
		const two = await stage.run(["get", id, "--steps", "--input"]);
		expect([two.code, two.err]).toEqual([2, expect.stringContaining("--input and --steps: choose one")]);

		await stage.run(["replay", id, "--keep-steps"]);
		expect((await stage.ff.steps(id)).steps).toHaveLength(2);
		await stage.run(["cancel", id]);
		await stage.run(["replay", id]);
		expect((await stage.ff.steps(id)).steps).toEqual([]);
	});
});

describe("lanes and workers", () => {
	test("what is in each lane, and how old the oldest is", async () => {
		await submit(["thing", "--namespace", "laned", "--lane", "left"]);
		await submit(["thing", "--namespace", "laned", "--lane", "left", "--delay", "1h"]);
		await submit(["thing", "--namespace", "laned", "--lane", "right"]);
		const { out } = await stage.run(["lanes", "--namespace", "laned"]);
		expect(out).toMatch(/^LANE +STATE +OLDEST WAITING +PER MINUTE +DEPTH$/m);
		expect(out).toMatch(/^left +active +\d+.* +0 +(waiting 1, delayed 1|delayed 1, waiting 1)$/m);
		expect(out).toMatch(/^right +active +\d+.* +0 +waiting 1$/m);
		const { lanes } = await stage.json<{ lanes: { lane: string }[] }>(["lanes", "--namespace", "laned"]);
		expect(lanes.map(({ lane }) => lane)).toEqual(["left", "right"]);
		expect(await stage.run(["lanes", "--namespace", "empty"])).toMatchObject({ code: 0, out: "" });
	});

	test("the workers that are there", async () => {
		const { out } = await stage.run(["workers"]);
		expect(out).toMatch(/^WORKER +LAST HEARD +KINDS +LANES +OFFERS +INSTANCE$/m);
		expect(out).toMatch(/^tester +.* +echo, fail, steps +work +tester-1$/m);
		const { workers } = await stage.json<{ workers: object[] }>(["workers"]);
		expect(workers).toMatchObject([{ instanceId: "tester-1", workerId: "tester", lanes: ["work"] }]);
		expect(await stage.run(["workers", "--namespace", "empty"])).toMatchObject({ code: 0, out: "" });
	});
});

describe("the frame", () => {
	test("a server that is not there is told with its address", async () => {
		const { code, err } = await runHere(["list", "--url", "http://127.0.0.1:1"]);
		expect(code).toBe(5);
		expect(err).toContain("127.0.0.1:1");
	});

	test("of several servers, one that answers is asked", async () => {
		const urls = `http://127.0.0.1:1, ${stage.url}`;
		const { id } = await stage.json<Execution>(["submit", "echo", "--lane", "idle", "--url", urls]);
		const { code, out } = await runHere(["get", id, "--json"], { env: { FF_URL: urls } });
		expect(code).toBe(0);
		expect(JSON.parse(out)).toMatchObject({ id, publicState: "waiting" });
	});

	test("when none of several servers answers, each is named", async () => {
		const { code, err } = await runHere(["list", "--url", "http://127.0.0.1:1,http://127.0.0.1:2"]);
		expect(code).toBe(5);
		expect(err).toMatch(
			/nobody answers at http:\/\/127\.0\.0\.1:1 \(.+\) or http:\/\/127\.0\.0\.1:2 \(.+\); start a server/,
		);
	});

	test.each(["localhost:9090", "http://127.0.0.1:9090,", "http://127.0.0.1:9090,localhost:9090"])(
		"a bad address is misuse: %s",
		async (url) => {
			expect(await runHere(["list", "--url", url])).toEqual({
				code: 2,
				out: "",
				err: `flowfabric: --url: must be an http:// or https:// address without user, query and fragment, or several separated by commas, got "${url}"\n`,
			});
		},
	);

	test("an address with a password is refused, and the password is not shown", async () => {
		const { code, err } = await runHere(["list", "--url", "http://127.0.0.1:1,http://me:hunter2@127.0.0.1:2"]);
		expect(code).toBe(2);
		expect(err).not.toContain("hunter2");
	});

	test("--version and --help answer on standard output; no command is misuse", async () => {
		expect(await runHere(["--version"])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
		expect(await runHere(["--help"])).toMatchObject({ code: 0, out: expect.stringContaining("Exit codes:") });
		expect(await runHere([])).toMatchObject({ code: 2, out: "", err: expect.stringContaining("Usage: flowfabric") });
		expect(await runHere(["sumbit"])).toMatchObject({
			code: 2,
			err: "flowfabric: unknown command 'sumbit' (Did you mean submit?)\n",
		});
	});

	test("colours only for a terminal that wants them", async () => {
		await submit(["thing", "--lane", "coloured"]);
		const list = (tty: boolean, env: Record<string, string>) => stage.run(["list", "--lane", "coloured"], { tty, env });
		expect((await list(true, {})).out).toContain("\u001b[33mwaiting");
		expect((await list(true, { NO_COLOR: "1" })).out).not.toContain("\u001b");
		expect((await list(false, {})).out).not.toContain("\u001b");
	});
});
