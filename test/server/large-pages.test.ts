import { expect, test } from "vitest";
import { Stand } from "./stand.ts";

const MIB = 1024 * 1024;
const who = { workerId: "w", instanceId: "i" };

/** How many items each page of a list has. */
async function pagesOf(stand: Stand, path: string, name: string, most = 2.5 * MIB): Promise<number[]> {
	const counts: number[] = [];
	for (let cursor: string | undefined; ; ) {
		const after = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
		const { status, json, text } = await stand.call("GET", `${path}${after}`);
		expect(status).toBe(200);
		expect(text.length).toBeLessThan(most);
		counts.push(json[name].length);
		cursor = json.nextCursor;
		if (cursor === undefined) return counts;
	}
}

const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);

test("a page of flows ends where their tags come to a mebibyte", async () => {
	const stand = await Stand.open();
	const tags = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`t${n}`, "x".repeat(256)]));
	for (let n = 0; n < 180; n++)
		await stand.backend.flows.create({ nodes: [{ key: "a", kind: "z", delayMs: 86_400_000 }], tags });
	const pages = await pagesOf(stand, "/v1/flows?limit=1000", "flows");
	expect(pages.length).toBeGreaterThan(1);
	expect(sum(pages)).toBe(180);
});

test("a page of waitpoints ends where the names of their signals come to a mebibyte", async () => {
	const stand = await Stand.open();
	const { executions, leases } = stand.backend;
	const anyOf = Array.from({ length: 60 }, (_, n) => ({ signal: `${"x".repeat(250)}${n}` }));
	for (let n = 0; n < 120; n++) {
		await executions.create({ kind: "job" });
		const [job] = await leases.claim({ ...who });
		if (!job) throw new Error("no job");
		const fence = { leaseId: job.lease.id, epoch: job.lease.epoch };
		await leases.suspend(job.id, {
			fence,
			reason: "waiting_for_signal",
			condition: { anyOf },
			waitpoints: [{ key: "w" }],
		});
	}
	const pages = await pagesOf(stand, "/v1/waitpoints?limit=1000", "waitpoints");
	expect(pages.length).toBeGreaterThan(1);
	expect(sum(pages)).toBe(120);
});

test("a page of steps ends where their results come to four mebibytes", async () => {
	const stand = await Stand.open();
	const { executions, leases } = stand.backend;
	const { id } = await executions.create({ kind: "job" });
	const [job] = await leases.claim({ ...who });
	const fence = { leaseId: job?.lease.id ?? "", epoch: job?.lease.epoch ?? 0 };
	const result = Array.from({ length: 250_000 }, () => []);
	for (let index = 0; index < 12; index++)
		await leases.recordStep(id, { fence, name: "s", index, result, startedAt: 0 });
	expect(await pagesOf(stand, `/v1/executions/${id}/steps?values=true`, "steps", 5 * MIB)).toEqual([6, 6]);
	expect(await pagesOf(stand, `/v1/executions/${id}/steps?values=false`, "steps")).toEqual([12]);
});
