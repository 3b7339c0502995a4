import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClaimedExecution, SuspendRequest } from "../../src/index.ts";
import { Stage } from "./stage.ts";

let stage: Stage;
let folder: string;
beforeAll(async () => {
	stage = await Stage.open();
	folder = await mkdtemp(join(tmpdir(), "flowfabric-approvals-"));
});
afterAll(async () => {
	await stage.close();
	await rm(folder, { recursive: true });
});

const claim = async (namespace: string): Promise<ClaimedExecution> => {
	const [held] = await stage.ff.backend.leases.claim({ workerId: "w", instanceId: "w-1", namespace });
	if (!held) throw new Error("nothing to claim");
	return held;
};

let namespaces = 0;

/** Work that waits, in a namespace of its own. */
async function suspended(request: Partial<SuspendRequest> = {}) {
	const namespace = `n-${++namespaces}`;
	await stage.ff.submit("refund", {}, { namespace });
	const { id, lease } = await claim(namespace);
	const { waitpoints } = await stage.ff.backend.leases.suspend(id, {
		fence: { leaseId: lease.id, epoch: lease.epoch },
		reason: "waiting_for_approval",
		condition: { signal: "approve" },
		waitpoints: [{ key: "boss" }],
		...request,
	});
	const [at] = waitpoints;
	if (!at) throw new Error("no waitpoint");
	return { id, namespace, at };
}

test("approvals lists what waits for a person", async () => {
	const { id, namespace } = await suspended({ timeoutMs: 3_600_000 });
	const { code, out } = await stage.run(["approvals", "--namespace", namespace]);
	expect(code).toBe(0);
	const [head = "", row = "", ...rest] = out.trimEnd().split("\n");
	expect(head.split(/ {2,}/)).toEqual(["SINCE", "WHY", "SIGNALS", "KEY", "KIND", "EXECUTION", "TIMEOUT"]);
	expect(row).toMatch(
		new RegExp(
			`^(now|\\d.*ago) +waiting for approval for another \\d+ min.* +approve +boss +refund +${id} +in \\d+ min$`,
		),
	);
	expect(rest).toEqual([]);
	const page = await stage.json<{ waitpoints: { executionId: string }[] }>(["approvals", "--namespace", namespace]);
	expect(page.waitpoints).toMatchObject([{ executionId: id, key: "boss" }]);
});

test("approvals asks for a reason and a key, and goes through pages", async () => {
	const { namespace } = await suspended({ waitpoints: [{ key: "boss" }, { key: "legal" }] });
	const keys = async (...flags: string[]) => {
		const { out } = await stage.run(["approvals", "--namespace", namespace, "--all", "--json", ...flags]);
		return out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).key]));
	};
	expect(await keys()).toEqual(["boss", "legal"]);
	expect(await keys("--limit", "1")).toEqual(["boss", "legal"]);
	expect(await keys("--key", "legal")).toEqual(["legal"]);
	expect(await keys("--reason", "paused_by_budget")).toEqual([]);
	const first = await stage.run(["approvals", "--namespace", namespace, "--limit", "1"]);
	expect(first.err).toMatch(/^There may be more: --cursor \S+, or --all\n$/);
	const none = await stage.run(["approvals", "--namespace", "empty"]);
	expect([none.out, none.err]).toEqual(["", "Nothing waits for anybody.\n"]);
	expect((await stage.run(["approvals", "--reason", "boredom"])).code).toBe(2);
});

test("approve lets it go on, with what was said and who said it", async () => {
	const { id, namespace } = await suspended();
	const { code, out } = await stage.run(["approve", id, '{"note": "fine"}', "--as", "ann"]);
	expect([code, out]).toEqual([0, `${id} goes on\n`]);
	expect((await claim(namespace)).signals).toMatchObject([
		{ name: "approve", payload: { note: "fine" }, source: { type: "operator", identity: "ann" } },
	]);
	const again = await stage.run(["approve", id]);
	expect([again.code, again.err]).toEqual([4, expect.stringContaining("execution_not_suspended")]);
});

test("approve says no, or something else, at the waitpoint it is told", async () => {
	const condition = { allOf: [{ signal: "reject" }, { signal: "seen", waitpoint: "legal" }] };
	const { id, namespace } = await suspended({ condition, waitpoints: [{ key: "boss" }, { key: "legal" }] });
	expect((await stage.run(["approve", id, "too dear", "--text", "--reject"])).out).toBe(`${id} waits for more\n`);
	const seen = await stage.json(["approve", id, "--name", "seen", "--waitpoint", "legal"]);
	expect(seen).toMatchObject({ id, status: "accepted", effect: "resumed" });
	expect((await claim(namespace)).signals).toMatchObject([{ name: "reject", payload: "too dear" }, { name: "seen" }]);
	const both = await stage.run(["approve", id, "--reject", "--name", "seen"]);
	expect([both.code, both.err]).toEqual([2, expect.stringContaining("choose one")]);
	expect((await stage.run(["approve", id, "not json"])).err).toContain("payload: must be JSON");
});

test("an answer that nobody waits for ends with refused, and says what is waited for", async () => {
	const { id } = await suspended();
	const { code, out, err } = await stage.run(["approve", id, "--reject"]);
	expect({ code, out, err }).toEqual({
		code: 4,
		out: `${id} does not wait for that\n`,
		err: "It waits for approve at boss.\n",
	});
});

test("signal sends with a token from a file or a pipe, else with one that the server gives", async () => {
	const condition = { count: { n: 4, distinctBy: "signal" } } as const;
	const { id, namespace, at } = await suspended({ condition });
	const path = join(folder, "token");
	await writeFile(path, `${at.token}\n`);
	const byFile = await stage.run(["signal", id, "a", "--waitpoint", at.id, "--waitpoint-token-file", path]);
	expect([byFile.code, byFile.out]).toEqual([0, `${id} waits for more\n`]);
	const key = ["--idempotency-key", "k"];
	const piped = ["signal", id, "b", "7", "--waitpoint", "boss", "--waitpoint-token-file", "-", ...key];
	expect((await stage.run(piped, { stdin: at.token })).out).toBe(`${id} waits for more\n`);
	expect((await stage.run(piped, { stdin: at.token })).out).toBe(`${id} waits for more (was sent already)\n`);
	expect((await stage.run(["signal", id, "a"])).out).toBe(`${id} had one like it already, and waits for another\n`);
	await stage.run(["signal", id, "c", "--source", "person:ann"]);
	const last = await stage.json(["signal", id, "d"]);
	expect(last).toMatchObject({ id, waitpointId: at.id, effect: "resumed" });
	const { signals } = await claim(namespace);
	expect(signals.map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
	expect(signals[2]).toMatchObject({ source: { type: "person", identity: "ann" } });
});

test("signal shows no token, and refuses what it cannot send", async () => {
	const { id, at } = await suspended();
	const wrong = await stage.run(["signal", id, "a", "--waitpoint-token-file", "-"], { stdin: `${at.token}x` });
	expect([wrong.code, wrong.err]).toEqual([4, "flowfabric: the waitpoint's token is not valid (invalid_token)\n"]);
	const nowhere = await stage.run(["signal", id, "a", "--waitpoint", "nowhere"]);
	expect([nowhere.code, nowhere.err]).toEqual([2, expect.stringContaining("has no open waitpoint nowhere")]);
	expect((await stage.run(["signal", id, "a", "--waitpoint-token-file", join(folder, "no")])).err).toContain("ENOENT");
	expect((await stage.run(["signal", id, "a", "--source", "ann"])).code).toBe(2);
	const argument = await stage.run(["signal", id, "a", "--waitpoint-token", at.token]);
	expect(argument.code).toBe(2);
	for (const { out, err } of [wrong, nowhere, argument]) expect(out + err).not.toContain(at.token.slice(3));
});

test("resume lets it go on, and keeps why", async () => {
	const { id } = await suspended();
	const { code, out } = await stage.run(["resume", id, "--reason", "checked by hand"]);
	expect([code, out]).toEqual([0, `${id} waiting\n`]);
	const { events } = await stage.ff.events(id);
	expect(events.at(-1)).toMatchObject({ type: "resumed", by: "resumed", reason: "checked by hand" });
	expect((await stage.run(["resume", id])).code).toBe(4);
});

test("get and explain show what suspended work waits for", async () => {
	const { id, at } = await suspended({ condition: { allOf: [{ signal: "approve" }, { signal: "paid" }] } });
	await stage.run(["approve", id]);
	const { out } = await stage.run(["get", id]);
	expect(out).toContain("waiting for approval");
	expect(out).toMatch(
		new RegExp(`\nWAITPOINT +STATE +SIGNALS +SINCE +ID\nboss +active +approve, paid +\\S.* ${at.id}\n`),
	);
	const explained = await stage.run(["explain", id]);
	expect(explained.out).toContain("  it waits for signal paid at boss\n");
	expect(explained.out).toMatch(/waitpoints +boss\nsignals +1 came that count\n/);
	expect(out + explained.out).not.toContain(at.token.slice(3));
});

test("quotas keep slots if told so", async () => {
	await stage.run(["quotas", "create", "gpu", "--concurrency", "1", "--hold-while-suspended"]);
	expect((await stage.ff.quotas.get("gpu")).holdWhileSuspended).toBe(true);
	expect((await stage.run(["quotas", "show", "gpu"])).out).toMatch(/kept +while suspended\n/);
	await stage.run(["quotas", "set", "gpu", "--no-hold-while-suspended"]);
	expect((await stage.ff.quotas.get("gpu")).holdWhileSuspended).toBe(false);
});
