import { expect } from "vitest";
import { type Case, entry, type Trial, unit } from "../trial.ts";

async function fill(trial: Trial, queues: string[]): Promise<void> {
	await trial.apply([
		unit({ put: [{ key: "writer", doc: "" }], indexAdded: queues.map((queue) => entry(queue, 1, "key")) }),
	]);
}

export function queueNameCases(test: Case): void {
	test("an empty store has no queues", async (trial) => {
		expect(await trial.queues()).toEqual([]);
	});

	test("queues come in order, each once however many entries it has", async (trial) => {
		await trial.apply([
			unit({ indexAdded: [entry("b", 1, "x"), entry("a", 1, "x"), entry("b", 2, "y"), entry("c", 1, "x")] }),
		]);
		expect(await trial.queues()).toEqual(["a", "b", "c"]);
	});

	test("a prefix selects the queues that start with it", async (trial) => {
		await fill(trial, ["list,a,x", "list,a,y", "list,ab,x", "list", "lisu", "eligible,a", "due"]);
		expect(await trial.queues("list,a,")).toEqual(["list,a,x", "list,a,y"]);
		expect(await trial.queues("list,a")).toEqual(["list,a,x", "list,a,y", "list,ab,x"]);
		expect(await trial.queues("list")).toEqual(["list", "list,a,x", "list,a,y", "list,ab,x"]);
		expect(await trial.queues("list,a,x")).toEqual(["list,a,x"]);
		expect(await trial.queues("list,a,xx")).toEqual([]);
		expect(await trial.queues("z")).toEqual([]);
	});

	test("a queue vanishes with its last entry and comes back with the next", async (trial) => {
		await fill(trial, ["a", "b"]);
		await trial.apply([unit({ indexRemoved: [entry("a", 1, "key")] })]);
		expect(await trial.queues()).toEqual(["b"]);
		await fill(trial, ["a"]);
		expect(await trial.queues()).toEqual(["a", "b"]);
	});

	test("the due queue is listed like any other", async (trial) => {
		await fill(trial, ["due", "a"]);
		expect(await trial.queues()).toEqual(["a", "due"]);
	});

	test("wildcards of any query language are plain characters", async (trial) => {
		const names = ["a%b", "a_b", "a*b", "a?b", "a[b]", "a\\b", "a.b", "axb", "a'b", 'a"b', "a:b", "a{b}"];
		await fill(trial, names);
		for (const name of names) expect(await trial.queues(name)).toEqual([name]);
		expect(await trial.queues("a%")).toEqual(["a%b"]);
		expect(await trial.queues("a_")).toEqual(["a_b"]);
		expect(await trial.queues("a*")).toEqual(["a*b"]);
		expect(await trial.queues("a[")).toEqual(["a[b]"]);
	});

	test("upper and lower case differ", async (trial) => {
		await fill(trial, ["Lane", "lane", "LANE"]);
		expect(await trial.queues("lane")).toEqual(["lane"]);
		expect(await trial.queues("L")).toEqual(["LANE", "Lane"]);
	});

	test("names may hold any character, and a prefix may end in any", async (trial) => {
		const names = ["ünï", "ün", "日本語", "日本", "🦊🐻", "🦊", "a b", "a\nb", "a\u0000b", "a\u0000"];
		await fill(trial, names);
		expect((await trial.queues()).sort()).toEqual([...names].sort());
		expect(await trial.queues("日本")).toEqual(["日本", "日本語"]);
		expect(await trial.queues("🦊")).toEqual(["🦊", "🦊🐻"]);
		expect(await trial.queues("ün")).toEqual(["ün", "ünï"]);
		expect(await trial.queues("a\u0000")).toEqual(["a\u0000", "a\u0000b"]);
		for (const name of names) expect(await trial.keys(name)).toEqual(["key"]);
	});

	test("a queue is not its longer or shorter namesake", async (trial) => {
		await trial.apply([unit({ indexAdded: [entry("q", 1, "one"), entry("qq", 1, "two"), entry("q ", 1, "three")] })]);
		expect([await trial.keys("q"), await trial.keys("qq"), await trial.keys("q ")]).toEqual([
			["one"],
			["two"],
			["three"],
		]);
	});

	test("thousands of queues are all listed", async (trial) => {
		const names = Array.from({ length: 3000 }, (_, n) => `steps,${String(n).padStart(5, "0")}`);
		await fill(trial, [...names, "other"]);
		expect(await trial.queues("steps,")).toEqual(names);
		expect(await trial.queues("steps,0299")).toEqual(names.slice(2990));
	});
}
