import { expect } from "vitest";
import type { Condition, SuspendRequest } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";
import { namesOf, type Sent, type SuspendedWork, suspend, suspended } from "../suspended-work.ts";

const keys = (...names: string[]) => names.map((key) => ({ key }));

const waitFor = (scene: Scene, condition: Condition, ...names: string[]) =>
	suspended(scene, { condition, waitpoints: keys(...(names.length > 0 ? names : ["w"])) });

/** Sends signals `name@waitpoint` one after the other; what each did. */
async function effects(work: SuspendedWork, ...signals: string[]): Promise<string[]> {
	const told: string[] = [];
	for (const signal of signals) {
		const [name = "", to] = signal.split("@");
		told.push((await work.send(name, to === undefined ? {} : { to })).effect);
	}
	return told;
}

const from = (identity: string, type = "person"): Sent => ({ source: { type, identity } });

/** What a suspension can wait for. */
export function conditionCases(test: PublicCase): void {
	test("signal: one of that name at the first waitpoint", async (scene) => {
		const work = await waitFor(scene, { signal: "go" }, "a", "b");
		expect(await effects(work, "other@a", "go@b", "go@a")).toEqual(["ignored", "ignored", "resumed"]);
		expect((await scene.take()).signals).toMatchObject([{ name: "go", waitpoint: "a" }]);
	});

	test("signal at a waitpoint: one of that name there", async (scene) => {
		const work = await waitFor(scene, { signal: "go", waitpoint: "b" }, "a", "b");
		expect(await effects(work, "go@a", "go@b")).toEqual(["ignored", "resumed"]);
	});

	test("anySignal: whatever comes to the first waitpoint", async (scene) => {
		const work = await waitFor(scene, { anySignal: true }, "a", "b");
		expect(await effects(work, "x@b", "y@a")).toEqual(["ignored", "resumed"]);
		expect(namesOf((await scene.take()).signals)).toEqual(["y"]);
	});

	test("anySignal at a waitpoint: whatever comes there", async (scene) => {
		const work = await waitFor(scene, { anySignal: true, waitpoint: "b" }, "a", "b");
		expect(await effects(work, "x@a", "x@b")).toEqual(["ignored", "resumed"]);
	});

	test("operatorOnly: no signal ends it", async (scene) => {
		const work = await waitFor(scene, { operatorOnly: true });
		expect(await effects(work, "go", "approve")).toEqual(["ignored", "ignored"]);
		expect((await scene.get(work.id)).publicState).toBe("suspended");
		await scene.backend.waitpoints.resume(work.id);
		expect((await scene.take()).signals).toEqual([]);
	});

	test("timeoutOnly: nothing but its time ends it", async (scene) => {
		const work = await suspended(scene, {
			condition: { timeoutOnly: true },
			timeoutMs: 1000,
			timeoutBehavior: "resume",
		});
		expect(await effects(work, "go")).toEqual(["ignored"]);
		await scene.clock.advance(1000);
		expect(namesOf((await scene.take()).signals)).toEqual(["timeout"]);
	});

	test("timeoutOnly needs no waitpoint", async (scene) => {
		const request = { condition: { timeoutOnly: true }, waitpoints: [], timeoutMs: 10, timeoutBehavior: "resume" };
		const { id } = await suspended(scene, request as Partial<SuspendRequest>);
		await scene.clock.advance(10);
		expect((await scene.take()).id).toBe(id);
	});

	test("allOf: each of them, in any order, and all their signals are handed over as they came", async (scene) => {
		const work = await waitFor(scene, { allOf: [{ signal: "a" }, { signal: "b" }, { signal: "c" }] });
		expect(await effects(work, "c", "a", "x", "b")).toEqual(["appended", "appended", "ignored", "resumed"]);
		expect(namesOf((await scene.take()).signals)).toEqual(["c", "a", "b"]);
	});

	test("a node that has what it waits for takes no more of it", async (scene) => {
		const work = await waitFor(scene, { allOf: [{ signal: "a" }, { signal: "b" }] });
		expect(await effects(work, "a", "a", "b")).toEqual(["appended", "ignored", "resumed"]);
		expect(namesOf((await scene.take()).signals)).toEqual(["a", "b"]);
	});

	test("anyOf: one of them, and only the signals that satisfied it are handed over", async (scene) => {
		const condition = { anyOf: [{ allOf: [{ signal: "a" }, { signal: "b" }] }, { signal: "c" }] };
		const work = await waitFor(scene, condition);
		expect(await effects(work, "a", "c")).toEqual(["appended", "resumed"]);
		expect(namesOf((await scene.take()).signals)).toEqual(["c"]);
		expect(namesOf((await scene.backend.waitpoints.signals(work.id)).signals)).toEqual(["a", "c"]);
	});

	test("every node counts its own: one signal may be what several wait for", async (scene) => {
		const condition: Condition = {
			allOf: [{ signal: "a" }, { anySignal: true }, { count: { n: 1, distinctBy: "signal" } }],
		};
		const work = await waitFor(scene, condition);
		expect(await effects(work, "a")).toEqual(["resumed"]);
		expect(namesOf((await scene.take()).signals)).toEqual(["a"]);
	});

	test("every node counts its own: two counts of the same signals do not share them", async (scene) => {
		const two = { n: 2, distinctBy: "source" } as const;
		const condition: Condition = { allOf: [{ count: { ...two, match: "yes" } }, { count: { ...two, n: 3 } }] };
		const work = await waitFor(scene, condition);
		expect((await work.send("yes", from("ann"))).effect).toBe("appended");
		expect((await work.send("no", from("bob"))).effect).toBe("appended");
		expect((await work.send("yes", from("bob"))).effect).toBe("appended");
		expect((await work.send("yes", from("bob"))).effect).toBe("appended_duplicate");
		expect((await work.send("no", from("cid"))).effect).toBe("resumed");
		expect(namesOf((await scene.take()).signals)).toEqual(["yes", "no", "yes", "no"]);
	});

	test("count by waitpoint: from so many different waitpoints", async (scene) => {
		const work = await waitFor(scene, { count: { n: 2, distinctBy: "waitpoint" } }, "a", "b", "c");
		expect(await effects(work, "x@c", "y@c", "x@a")).toEqual(["appended", "appended_duplicate", "resumed"]);
		expect((await scene.take()).signals.map(({ waitpoint }) => waitpoint)).toEqual(["c", "a"]);
	});

	test("count by signal: so many different names", async (scene) => {
		const work = await waitFor(scene, { count: { n: 2, distinctBy: "signal" } });
		expect(await effects(work, "x", "x", "y")).toEqual(["appended", "appended_duplicate", "resumed"]);
	});

	test("count by source: from so many different senders", async (scene) => {
		const work = await waitFor(scene, { count: { n: 2, distinctBy: "source", match: "approve" } });
		expect((await work.send("approve", from("ann"))).effect).toBe("appended");
		expect((await work.send("approve", from("ann"))).effect).toBe("appended_duplicate");
		expect((await work.send("reject", from("bob"))).effect).toBe("ignored");
		expect((await work.send("approve", from("ann", "robot"))).effect).toBe("resumed");
		expect((await scene.take()).signals.map(({ source }) => source)).toEqual([
			{ type: "person", identity: "ann" },
			{ type: "robot", identity: "ann" },
		]);
	});

	test("count by source: no two are taken for one, however they are called", async (scene) => {
		const work = await waitFor(scene, { count: { n: 3, distinctBy: "source" } });
		expect((await work.send("x", from("b:c", "a"))).effect).toBe("appended");
		expect((await work.send("x", from("c", "a:b"))).effect).toBe("appended");
		expect((await work.send("x", from("\ud800\u0000", '"'))).effect).toBe("resumed");
	});

	test("count by source: those who say nothing of themselves are one", async (scene) => {
		const work = await waitFor(scene, { count: { n: 2, distinctBy: "source" } });
		expect(await effects(work, "x", "y")).toEqual(["appended", "appended_duplicate"]);
		expect((await work.send("z", from("ann"))).effect).toBe("resumed");
	});

	test("count at some waitpoints: what comes to others does not count", async (scene) => {
		const condition: Condition = { count: { n: 2, distinctBy: "waitpoint", waitpoints: ["b", "c"] } };
		const work = await waitFor(scene, condition, "a", "b", "c");
		expect(await effects(work, "x@a", "x@b", "x@c")).toEqual(["ignored", "appended", "resumed"]);
	});

	test("conditions nest four deep", async (scene) => {
		const deep: Condition = { allOf: [{ anyOf: [{ allOf: [{ anyOf: [{ signal: "a" }, { signal: "b" }] }] }] }] };
		const work = await waitFor(scene, deep);
		expect(await effects(work, "x", "b")).toEqual(["ignored", "resumed"]);
	});

	test("operatorOnly within anyOf leaves the others to end it", async (scene) => {
		const work = await waitFor(scene, { anyOf: [{ operatorOnly: true }, { signal: "a" }] });
		expect(await effects(work, "a")).toEqual(["resumed"]);
	});

	test("a waitpoint tells the names that are waited for at it", async (scene) => {
		const condition: Condition = {
			anyOf: [
				{ allOf: [{ signal: "x" }, { signal: "y", waitpoint: "b" }] },
				{ count: { n: 1, distinctBy: "source", match: "z" } },
				{ anySignal: true, waitpoint: "b" },
			],
		};
		const work = await waitFor(scene, condition, "a", "b");
		const { waitpoints } = await scene.backend.waitpoints.list(work.id);
		expect(waitpoints.map(({ key, requiredSignalNames }) => [key, requiredSignalNames])).toEqual([
			["a", ["x", "z"]],
			["b", ["y", "z"]],
		]);
	});

	const nested = (depth: number): unknown => (depth === 0 ? { signal: "a" } : { allOf: [nested(depth - 1)] });
	const refused: Record<string, [code: string, request: Record<string, unknown>, field: string]> = {
		"a count of none": ["count_n_zero", { condition: { count: { n: 0, distinctBy: "signal" } } }, "condition.count.n"],
		"a count that can never be reached": [
			"count_unreachable",
			{ condition: { count: { n: 2, distinctBy: "waitpoint" } } },
			"condition.count.n",
		],
		"a count at no waitpoint": [
			"count_waitpoints_empty",
			{ condition: { count: { n: 1, distinctBy: "signal", waitpoints: [] } } },
			"condition.count.waitpoints",
		],
		"a count at a waitpoint that is not among those named": [
			"waitpoint_unknown",
			{ condition: { count: { n: 1, distinctBy: "signal", waitpoints: ["w", "v"] } } },
			"condition.count.waitpoints",
		],
		"all of nothing": ["all_of_empty", { condition: { allOf: [] } }, "condition"],
		"any of nothing": ["any_of_empty", { condition: { anyOf: [] } }, "condition"],
		"nothing deep within": [
			"any_of_empty",
			{ condition: { allOf: [{ signal: "a" }, { anyOf: [] }] } },
			"condition.allOf[1]",
		],
		"nesting five deep": ["depth_exceeded", { condition: nested(5) }, "condition.allOf[0].allOf[0].allOf[0].allOf[0]"],
		"nesting twenty deep": [
			"depth_exceeded",
			{ condition: nested(20) },
			"condition.allOf[0].allOf[0].allOf[0].allOf[0]",
		],
		"more nodes than 64": [
			"condition_too_large",
			{ condition: { allOf: Array.from({ length: 64 }, (_, n) => ({ signal: `${n}` })) } },
			"condition",
		],
		"a signal at a waitpoint that is not among those named": [
			"waitpoint_unknown",
			{ condition: { signal: "a", waitpoint: "v" } },
			"condition.waitpoint",
		],
		"a signal where there is no waitpoint": ["waitpoint_unknown", { waitpoints: [] }, "waitpoints"],
		"a waitpoint of another id than the open one": [
			"waitpoint_unknown",
			{ waitpoints: [{ key: "w", id: `wp_${"0".repeat(32)}_0` }] },
			"waitpoints[0].id",
		],
		"a waitpoint named twice": ["duplicate_waitpoint", { waitpoints: keys("w", "w") }, "waitpoints"],
		"a timeout that is over": ["timeout_in_past", { timeoutAt: 1_600_000_000_000 }, "timeoutAt"],
		"timeoutOnly without a timeout": ["timeout_required", { condition: { timeoutOnly: true } }, "condition"],
		"timeoutOnly deep within, without a timeout": [
			"timeout_required",
			{ condition: { anyOf: [{ signal: "a" }, { timeoutOnly: true }] } },
			"condition.anyOf[1]",
		],
		"two timeouts": ["invalid_input", { timeoutMs: 5, timeoutAt: 1_900_000_000_000 }, "timeoutMs"],
		"an unknown form": ["invalid_input", { condition: { never: true } }, "condition.never"],
		"two forms at once": ["invalid_input", { condition: { signal: "a", anySignal: true } }, "condition"],
		"no form": ["invalid_input", { condition: {} }, "condition"],
		"a condition that is none": ["invalid_input", { condition: "go" }, "condition"],
		"a name that is no text": ["invalid_input", { condition: { signal: 7 } }, "condition.signal"],
		"anySignal of false": ["invalid_input", { condition: { anySignal: false } }, "condition.anySignal"],
		"a count by something else": [
			"invalid_input",
			{ condition: { count: { n: 1, distinctBy: "colour" } } },
			"condition.count.distinctBy",
		],
		"a count of one and a half": [
			"invalid_input",
			{ condition: { count: { n: 1.5, distinctBy: "signal" } } },
			"condition.count.n",
		],
		"a field that count does not have": [
			"invalid_input",
			{ condition: { count: { n: 1, distinctBy: "signal", most: 3 } } },
			"condition.count.most",
		],
		"a waitpoint on a form that has none": [
			"invalid_input",
			{ condition: { operatorOnly: true, waitpoint: "w" } },
			"condition.waitpoint",
		],
	};
	for (const [what, [code, request, field]] of Object.entries(refused)) {
		test(`${what} is refused as ${code}, naming the field, and the lease is kept`, async (scene) => {
			const held = await scene.start();
			const error = await refusal(suspend(scene, held, request as Partial<SuspendRequest>));
			expect(error).toMatchObject({ code, status: 400, retryable: false, details: { field } });
			expect((await scene.get(held.id)).lease?.id).toBe(held.lease.id);
			expect((await scene.backend.waitpoints.list(held.id, { all: true })).waitpoints).toEqual([]);
		});
	}
}
