import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BudgetView, Execution, QuotaView } from "../../src/index.ts";
import { Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
	stage = await Stage.open();
});
afterAll(() => stage.close());

describe("budgets", () => {
	test("are made, shown, changed and deleted", async () => {
		const none = await stage.run(["budgets"]);
		expect(none).toMatchObject({ code: 0, out: "", err: "There are no budgets.\n" });
		const limits = ["--hard", "tokens=100", "--soft", "tokens=80", "--hard", "calls=5"];
		const how = ["--reset", "1h", "--on-hard", "fail", "--label", "team=a"];
		const made = await stage.run(["budgets", "create", "team", ...limits, ...how]);
		expect(made).toMatchObject({ code: 0, out: "team made: tokens 0/100, calls 0/5\n" });
		const again = await stage.run(["budgets", "create", "team", ...limits, ...how]);
		expect(again.out).toBe("team was there already: tokens 0/100, calls 0/5\n");
		expect(await stage.json<BudgetView>(["budgets", "show", "team"])).toMatchObject({
			dimensions: { tokens: { hard: 100, soft: 80 }, calls: { hard: 5 } },
			resetEvery: 3_600_000,
			onHard: "fail",
			labels: { team: "a" },
		});
		const changes = ["--hard", "tokens=none", "--remove", "calls", "--reset", "none", "--on-hard", "cancel"];
		const changed = await stage.json<BudgetView>(["budgets", "set", "team", ...changes]);
		expect(changed).toMatchObject({ dimensions: { tokens: { soft: 80 } }, onHard: "cancel" });
		expect(changed.dimensions).toEqual({ tokens: { used: 0, reserved: 0, soft: 80, exhausted: false } });
		expect(changed).not.toHaveProperty("resetEvery");
		expect(await stage.run(["budgets", "delete", "team"])).toMatchObject({ code: 0, out: "team deleted\n" });
		expect((await stage.run(["budgets", "show", "team"])).code).toBe(3);
	});

	test("show what is used, who spent it, and what was refused", async () => {
		await stage.run(["budgets", "create", "spent", "--hard", "tokens=100", "--namespace", "n"]);
		const { id } = await stage.json<Execution>(["submit", "job", "--namespace", "n"]);
		const usage = (...args: string[]) => stage.run(["budgets", "usage", "spent", ...args, "--namespace", "n"]);
		expect(await usage("tokens=90", "calls=1", "--execution", id)).toMatchObject({ code: 0, out: "ok\n" });
		expect(await usage("tokens=20")).toMatchObject({ code: 4, out: "hard_breach: tokens 90/100\n" });
		expect((await usage("calls=1", "--dedup-key", "k")).out).toBe("ok\n");
		expect((await usage("calls=1", "--dedup-key", "k")).out).toBe("ok (was reported already)\n");
		const list = await stage.run(["budgets", "--namespace", "n"]);
		expect(list.out).toMatch(/^spent +tokens 90\/100 exhausted, calls 2 +0 +1 +block$/m);
		const shown = (await stage.run(["budgets", "show", "spent", "--namespace", "n"])).out;
		expect(shown).toMatch(/^refused +1, over a soft limit 0$/m);
		expect(shown).toMatch(/^tokens +90 +0 +100 +\[█+░+\] 90 % +exhausted$/m);
		expect(shown).toMatch(new RegExp(`^${id} +now +tokens 90, calls 1$`, "m"));
		expect(shown).toMatch(/^\(nobody in particular\) +now +calls 1$/m);
		const ledger = await stage.json<{ entries: unknown[] }>(["budgets", "ledger", "spent", "--namespace", "n"]);
		expect(ledger.entries).toHaveLength(2);
		const page = await stage.run(["budgets", "ledger", "spent", "--limit", "1", "--namespace", "n"]);
		expect(page.err).toMatch(/^There is more: --cursor /);
		const release = ["budgets", "release", "spent", id, "--namespace", "n"];
		expect((await stage.run(release)).out).toBe("taken back: tokens 90, calls 1\n");
		expect((await stage.run(release)).out).toBe("there was nothing to take back\n");
		expect((await stage.run(["budgets", "reset", "spent", "--namespace", "n"])).out).toBe("spent reset\n");
		const empty = await stage.run(["budgets", "ledger", "spent", "--namespace", "n"]);
		expect(empty).toMatchObject({ out: "", err: "Nothing was spent in this period.\n" });
	});

	test("that are given wrongly are misuse, and say what is allowed", async () => {
		const wrong: [args: string[], said: string][] = [
			[["create", "b", "--hard", "tokens"], "must be dimension=number"],
			[["create", "b", "--hard", "tokens=0"], "an integer of 1 to"],
			[["create", "b", "--reset", "weekly"], "must be daily, monthly, none"],
			[["create", "b", "--on-hard", "suspend"], "Allowed choices are block, fail, cancel"],
			[["create", "b/c", "--hard", "tokens=1"], "id: must be 1 to 128 characters"],
			[["set", "b"], "give --hard"],
			[["usage", "b", "tokens=-1"], "an integer of 0 to"],
		];
		for (const [args, said] of wrong) {
			const { code, err } = await stage.run(["budgets", ...args]);
			expect([args, code]).toEqual([args, 2]);
			expect(err).toContain(said);
		}
	});
});

describe("quotas", () => {
	test("are made, shown, changed and deleted", async () => {
		expect((await stage.run(["quotas"])).err).toBe("There are no quotas.\n");
		const create = ["quotas", "create", "openai", "--rate", "100/1s", "--concurrency", "5", "--jitter", "20ms"];
		expect((await stage.run(create)).out).toBe("openai made\n");
		expect((await stage.run(create)).out).toBe("openai was there already\n");
		expect((await stage.run(["quotas"])).out).toMatch(/^openai +0\/5 +0\/100 in 1\.0 s +0$/m);
		expect(await stage.json<QuotaView>(["quotas", "show", "openai"])).toMatchObject({
			rate: { max: 100, windowMs: 1000, counted: 0 },
			concurrency: { max: 5, held: 0 },
			jitterMs: 20,
		});
		expect((await stage.run(["quotas", "show", "openai"])).out).toMatch(/^slots +0\/5$/m);
		const set = await stage.json<QuotaView>(["quotas", "set", "openai", "--rate", "none", "--concurrency", "9"]);
		expect(set).toMatchObject({ concurrency: { max: 9 } });
		expect(set).not.toHaveProperty("rate");
		expect((await stage.run(["quotas", "set", "openai", "--concurrency", "none"])).code).toBe(4);
		expect((await stage.run(["quotas", "set", "openai"])).code).toBe(2);
		expect((await stage.run(["quotas", "create", "x", "--rate", "100"])).err).toContain("such as 100/1s");
		expect((await stage.run(["quotas", "delete", "openai"])).out).toBe("openai deleted\n");
		expect((await stage.run(["quotas", "show", "openai"])).code).toBe(3);
	});

	test("and budgets are named by what is submitted, and shown on it", async () => {
		await stage.run(["budgets", "create", "team", "--hard", "tokens=100"]);
		await stage.run(["quotas", "create", "slots", "--concurrency", "1"]);
		const named = ["--budget", "team", "--quota", "slots", "--reserve", '{"team": {"tokens": 5}}'];
		const { id } = await stage.json<Execution>(["submit", "job", ...named]);
		const { out } = await stage.run(["get", id]);
		expect(out).toMatch(/^budgets +team$/m);
		expect(out).toMatch(/^quotas +slots$/m);
		expect(await stage.run(["submit", "job", "--budget", "nobody"])).toMatchObject({ code: 3 });
	});
});
