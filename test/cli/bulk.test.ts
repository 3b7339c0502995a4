import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
	stage = await Stage.open();
});
afterAll(() => stage.close());

const fill = async (lane: string, count: number, kind = "thing") => {
	const items = Array.from({ length: count }, () => ({ kind, lane }));
	for (const item of await stage.ff.submitMany(items)) expect(item.ok).toBe(true);
};
const states = async (lane: string): Promise<Record<string, number>> => {
	const lanes = (await stage.ff.lanes({ limit: 1000 })).lanes;
	return { ...lanes.find((each) => each.lane === lane)?.depth };
};
const person = (stdin: string) => ({ tty: true, types: true, stdin, columns: 80, env: { NO_COLOR: "1" } });

describe("many at once", () => {
	test("are shown with the filter in words, and nothing happens without a yes", async () => {
		await fill("shown", 7);
		const { out, err, code } = await stage.run(["cancel", "--lane", "shown", "--kind", "thing"], person("n\n"));
		expect(out).toMatch(/^To cancel: 7 executions of kind thing in lane shown in state open\.$/m);
		expect(out.match(/^waiting /gm)).toHaveLength(5);
		expect(out).toContain("… and 2 others\n");
		expect(err).toBe("Cancel 7 executions? [y/N] Nothing was done.\n");
		expect(code).toBe(8);
		expect(await states("shown")).toEqual({ waiting: 7 });
	});

	test("are cancelled after a yes, with a reason, and counted", async () => {
		await fill("agreed", 3);
		const { out, err, code } = await stage.run(["cancel", "--lane", "agreed", "--reason", "gone"], person("yes\n"));
		expect(out).toMatch(/\n3 cancelled\n$/);
		expect(err).toContain("[░░░░░░░░░░░░░░░░░░░░░░░░] 0 %  0 of 3 cancelled");
		expect(err).toContain("[████████████████████████] 100 %  3 of 3 cancelled");
		expect(code).toBe(0);
		const { executions } = await stage.ff.list({ lane: "agreed" });
		expect(executions.map(({ cancel }) => cancel?.reason)).toEqual(["gone", "gone", "gone"]);
	});

	test("need --yes where nobody can be asked, and with --json", async () => {
		await fill("scripted", 2);
		const refused = await stage.run(["cancel", "--lane", "scripted"]);
		expect(refused).toEqual({
			code: 2,
			out: "",
			err: "flowfabric: cancel by filter: there is no terminal to ask at; add --yes\n",
		});
		expect((await stage.run(["cancel", "--lane", "scripted", "--json"], person("y\n"))).code).toBe(2);
		expect(await states("scripted")).toEqual({ waiting: 2 });
		expect(await stage.json(["cancel", "--lane", "scripted", "--dry-run"])).toMatchObject({
			action: "cancel",
			filter: { lane: "scripted", state: "open" },
			matched: 2,
			first: [{ lane: "scripted" }, {}],
		});
		expect(await stage.json(["cancel", "--lane", "scripted", "--yes"])).toEqual({
			action: "cancel",
			matched: 2,
			isAll: true,
			done: 2,
			failed: 0,
			errors: [],
			isStopped: false,
		});
		expect(await states("scripted")).toEqual({ cancelled: 2 });
	});

	test("are replayed and deleted; what is refused is named, and the exit code says so", async () => {
		await fill("again", 2);
		await stage.json(["cancel", "--lane", "again", "--yes"]);
		expect((await stage.run(["replay", "--lane", "again", "--yes"])).err).toContain("--state: is needed to replay");
		expect((await stage.run(["replay", "--lane", "again", "--state", "cancelled", "--yes"])).out).toMatch(
			/\n2 replayed\n$/,
		);
		expect(await states("again")).toEqual({ waiting: 2 });
		const open = await stage.run(["delete", "--lane", "again", "--state", "waiting", "--yes"]);
		expect(open.out).toMatch(/\n0 deleted, 2 failed\n {2}ex_\w+: .* \(execution_not_terminal\)\n/);
		expect(open.code).toBe(1);
		await stage.json(["cancel", "--lane", "again", "--yes"]);
		expect((await stage.run(["delete", "--lane", "again", "--yes"])).out).toMatch(/\n2 deleted\n$/);
		expect((await stage.ff.list({ lane: "again" })).executions).toEqual([]);
		const none = await stage.run(["delete", "--lane", "again", "--yes"]);
		expect(none).toEqual({ code: 0, out: "Nothing to delete: no execution in lane again in state ended.\n", err: "" });
	});

	test("stop between pages when asked to, and say how far it came", async () => {
		await fill("long", 1000);
		await fill("long", 500);
		const stop = new AbortController();
		const { out, code } = await stage.run(["cancel", "--lane", "long"], {
			...person("y\n"),
			stop: stop.signal,
			onErr: (all) => all.includes("0 of 1500 cancelled") && stop.abort(),
		});
		expect(out).toMatch(/\n1000 cancelled; stopped there, of 1500 executions; the same command goes on\n$/);
		expect(code).toBe(8);
		expect(await states("long")).toEqual({ waiting: 500, cancelled: 1000 });
		expect(await stage.json(["cancel", "--lane", "long", "--yes"])).toMatchObject({ done: 500, failed: 0 });
	});

	test("what comes after the preview is left alone", async () => {
		await fill("late", 2);
		const asked = new Promise<void>((resolve) => (reach = resolve));
		let answer = () => {};
		const typed = new Promise<void>((resolve) => (answer = resolve));
		const running = stage.run(["cancel", "--lane", "late"], {
			...person("y\n"),
			typesWhen: typed,
			onErr: (all) => all.includes("[y/N]") && reach(),
		});
		await asked;
		await new Promise((resolve) => setTimeout(resolve, 2));
		await fill("late", 1);
		answer();
		expect((await running).out).toMatch(/\n2 cancelled\n$/);
		expect(await states("late")).toEqual({ waiting: 1, cancelled: 2 });
	});
	let reach = () => {};

	test.each([
		[["cancel"], /cancel: give an id, or a filter such as --lane or --state/],
		[["cancel", "--namespace", "team-a", "--yes"], /--namespace alone is none/],
		[["cancel", "ex_1", "--lane", "a"], /cancel: give an id or a filter, not both/],
		[["cancel", "--lane", "a", "--force", "--yes"], /--force and --grace: only with an id/],
		[["replay", "--state", "failed", "--keep-steps", "--yes"], /--keep-steps: only with an id/],
		[["cancel", "ex_…a1b2c3_12"], /ex_…a1b2c3_12 is shortened for the screen; list with --full-ids/],
		[["cancle", "ex_1"], /unknown command 'cancle' \(Did you mean cancel\?\)/],
	])("%j is misuse", async (args, problem) => {
		const { code, err } = await stage.run(args);
		expect(err).toMatch(problem);
		expect(code).toBe(2);
	});
});
