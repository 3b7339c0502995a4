import { expect, test } from "vitest";
import { runHere, Stage } from "./stage.ts";

test("bench measures an engine in this process", async () => {
	const { code, out } = await runHere(["bench", "--store", "memory:", "--count", "200", "--json"]);
	expect(code).toBe(0);
	const report = JSON.parse(out);
	expect(report).toMatchObject({ count: 200, concurrency: 64 });
	expect(report.perSecond).toBeGreaterThan(0);
	expect(report.roundTripMs.p50).toBeLessThanOrEqual(report.roundTripMs.max);
});

test("bench measures a server, with a bar for a person, and leaves others' lanes alone", async () => {
	const stage = await Stage.open();
	const { code, out, err } = await stage.run(["bench", "--count", "120"], { tty: true, env: { NO_COLOR: "1" } });
	expect(code).toBe(0);
	expect(out).toMatch(/^throughput +\d+ lifecycles a second/m);
	expect(out).toMatch(/^submit to result +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$/m);
	expect(err).toContain("throughput [");
	expect((await stage.ff.list({ lane: "default" })).executions).toEqual([]);
	await stage.close();
});
