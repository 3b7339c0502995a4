import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CreatedFlow, FlowView } from "../../src/index.ts";
import { Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
	stage = await Stage.open();
});
afterAll(() => stage.close());

const release = {
	kind: "release",
	nodes: ["build", "unit", "lint", "deploy", "alarm"].map((key) => ({ key, kind: "job", lane: "ci" })),
	edges: [
		{ from: "build", to: "unit" },
		{ from: "build", to: "lint" },
		{ from: "unit", to: "deploy" },
		{ from: "lint", to: "deploy" },
		{ from: "deploy", to: "alarm", on: "failure" },
	],
	groups: [{ node: "deploy", policy: { quorum: 2 } }],
};

const make = async (flow: object) => (await stage.ff.flows.create(flow as never)) as CreatedFlow;

/** Ends the next that can be claimed, well or not. */
async function endNext(lane: string, how: "complete" | "fail" = "complete"): Promise<void> {
	const { leases } = stage.ff.backend;
	const [claimed] = await leases.claim({ workerId: "w", instanceId: "w-1", lanes: [lane] });
	if (!claimed) throw new Error("nothing can be claimed");
	const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
	if (how === "complete") await leases.complete(claimed.id, { fence });
	else await leases.fail(claimed.id, { fence, reason: "broke", category: "error" });
}

describe("flows", () => {
	test("are made from a file or what is piped in, listed and drawn layer by layer", async () => {
		expect(await stage.run(["flows"])).toMatchObject({ code: 0, out: "", err: "There are no flows.\n" });
		const folder = await mkdtemp(join(tmpdir(), "flows-"));
		const file = join(folder, "release.json");
		await writeFile(file, JSON.stringify({ ...release, idempotencyKey: "r1" }));
		const made = await stage.run(["flows", "create", file]);
		expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^fl_\S+ made\n$/) });
		const id = made.out.split(" ")[0] as string;
		expect((await stage.run(["flows", "create", file])).out).toBe(`${id} was there already\n`);
		const piped = await stage.run(["flows", "create", "-", "--json"], { stdin: JSON.stringify(release) });
		expect(JSON.parse(piped.out)).toMatchObject({ created: true, nodes: { build: expect.any(String) } });
		await stage.run(["flows", "cancel", JSON.parse(piped.out).id, "--wait"]);
		await rm(folder, { recursive: true });

		const list = await stage.run(["flows", "--kind", "release"]);
		expect(list.out).toMatch(new RegExp(`^open +1 waiting, 4 waiting_children +release +${id} +(?:now|.* ago)$`, "m"));
		await endNext("ci");
		await endNext("ci");
		const shown = await stage.run(["flows", "show", id]);
		expect(shown.code).toBe(0);
		const lines = shown.out.split("\n");
		expect(lines[0]).toBe(`${id} release`);
		expect(lines[1]).toMatch(/^open for /);
		expect(lines[2]).toMatch(/^5 nodes, 5 edges: /);
		expect(shown.out).toMatch(/^1 {2}✓ build +completed +[\d.]+ m?s$/m);
		expect(shown.out).toMatch(/^2 {2}✓ unit +completed +[\d.]+ m?s +✓ build$/m);
		expect(shown.out).toMatch(/^ {3}○ lint +waiting +✓ build$/m);
		expect(shown.out).toMatch(/^3 {2}· deploy +waiting_children +2 of ✓ unit, … lint$/m);
		expect(shown.out).toMatch(/^4 {2}· alarm +waiting_children +… deploy \(failure\)$/m);
		expect(shown.out).toMatch(/^NOT RUNNING +WHY$/m);
		expect(shown.out).toMatch(/^lint +no live worker takes kind \S+ on lane ci$/m);
		expect(shown.out).toMatch(/^deploy +waiting for 2 of 2 upstreams: 1 satisfied, 1 to come$/m);
		const narrow = await stage.run(["flows", "show", id], { tty: true, env: { NO_COLOR: "1" } });
		for (const line of narrow.out.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
		expect(await stage.json<FlowView>(["flows", "show", id])).toMatchObject({ id, nodeCount: 5 });
		const members = await stage.json<{ executions: unknown[] }>(["list", "--flow", id, "--state", "completed"]);
		expect(members.executions).toHaveLength(2);
		const { nodes } = await stage.json<FlowView>(["flows", "show", id]);
		const explained = await stage.run(["explain", nodes.find(({ key }) => key === "deploy")?.executionId ?? ""]);
		expect(explained.out).toMatch(/^ {2}waiting for 2 of 2 upstreams: 1 satisfied, 1 to come$/m);
		expect(explained.out).toMatch(/^ {2}not done yet: lint \(waiting\)$/m);
	});

	test("are watched until they end, drawn over on a terminal and once in a pipe", async () => {
		const { id } = await make({ nodes: [{ key: "a", kind: "job", lane: "watched" }] });
		let isEnding = false;
		const looking = stage.run(["flows", "show", id, "--watch"], {
			tty: true,
			onOut(all) {
				if (!all.includes("waiting") || isEnding) return;
				isEnding = true;
				void endNext("watched", "fail");
			},
		});
		const { code, out } = await looking;
		expect(code).toBe(6);
		expect(out).toContain("\u001b[J");
		expect(out.slice(out.lastIndexOf("\u001b[J"))).toContain("failed");
		const piped = await stage.run(["flows", "show", id, "--watch"]);
		expect(piped.code).toBe(6);
		expect(piped.out.match(/NODE/g)).toHaveLength(1);
		const { id: good } = await make({ nodes: [{ key: "a", kind: "job", lane: "good" }] });
		await endNext("good");
		expect(await stage.run(["flows", "show", good, "--watch", "--json"])).toMatchObject({ code: 0 });
	});

	test("are cancelled and deleted", async () => {
		const { id } = await make(release);
		expect((await stage.run(["flows", "delete", id])).code).toBe(4);
		const scheduled = await stage.run(["flows", "cancel", id, "--policy", "flow_only", "--reason", "wrong branch"]);
		expect(scheduled).toMatchObject({ code: 0, out: `${id}: 5 members are being cancelled with flow_only\n` });
		const paused = await stage.run(["flows", "cancel", id, "--policy", "flow_only", "--wait"]);
		expect(paused.code).toBe(0);
		const shown = (await stage.run(["flows", "show", id])).out;
		expect(shown).toContain("cancelled with flow_only: wrong branch");
		expect(shown).toMatch(/^build +its flow was cancelled/m);
		const stronger = await stage.run(["flows", "cancel", id, "--wait"]);
		expect(stronger).toMatchObject({ code: 0, out: `${id} cancelled: it is cancelled\n` });
		const weaker = await stage.run(["flows", "cancel", id, "--policy", "cancel_pending"]);
		expect(weaker.out).toBe(`${id} already_terminal with cancel_all: it is cancelled\n`);
		expect(await stage.run(["flows", "delete", id])).toMatchObject({ code: 0, out: `${id} deleted\n` });
		expect((await stage.run(["flows", "show", id])).code).toBe(3);
	});

	test("of many that look alike are folded, and what others wrote moves no cursor", async () => {
		const items = Array.from({ length: 40 }, (_, n) => ({ key: `item ${n}`, kind: "job", lane: "map" }));
		const { id } = await make({ nodes: [...items, { key: "\u001b[31mred", kind: "odd", lane: "map" }] });
		const folded = (await stage.run(["flows", "show", id])).out;
		expect(folded).toContain("item 4 and 35 more like it");
		expect(folded).not.toContain("○ item 5");
		expect(folded).not.toContain("\u001b");
		expect((await stage.run(["flows", "show", id, "--all"])).out).toContain("item 39");
	});

	test("that are given wrongly are misuse, and say what is wrong", async () => {
		const wrong: [args: string[], stdin: string, said: string][] = [
			[["create", "nowhere.json"], "", "nowhere.json: cannot be read (ENOENT)"],
			[["create", "-"], "{", "is not JSON"],
			[["create", "-"], '{"nodes":[{"key":"a"}]}', "nodes[0].kind: is required"],
			[["cancel", "fl_x", "--policy", "some"], "", "Allowed choices are flow_only, cancel_pending, cancel_all"],
		];
		for (const [args, stdin, said] of wrong) {
			const { code, err } = await stage.run(["flows", ...args], { stdin });
			expect([args, code]).toEqual([args, 2]);
			expect(err).toContain(said);
		}
	});
});
