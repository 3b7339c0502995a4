import { expect, it } from "vitest";
import { RetryAfter, TerminalError, type WorkerEvents } from "../../src/index.ts";
import { gate, Stage } from "./stage.ts";

/** Everything a worker's hooks are told, in order. */
function listen(worker: Awaited<ReturnType<Stage["run"]>>) {
	const told: { name: string; event: WorkerEvents[keyof WorkerEvents] }[] = [];
	for (const name of ["completed", "failed", "retried", "lost"] as const)
		worker.on(name, (event) => told.push({ name, event }));
	return told;
}

it("a worker's hooks tell of what was completed, retried and failed, with what a log or a metric needs", async () => {
	const stage = await Stage.open();
	const worker = await stage.run(async (ctx) => {
		if (ctx.input === "well") return "done";
		if (ctx.attempt.index === 0) throw new RetryAfter(1000, "the model is busy");
		throw new TerminalError("no such page");
	});
	const told = listen(worker);
	const well = await stage.ff.submit("job", "well");
	await stage.clock.settle();
	expect(told.splice(0)).toEqual([
		{ name: "completed", event: { executionId: well.id, kind: "job", attempt: 0, durationMs: expect.any(Number) } },
	]);
	const ill = await stage.ff.submit("job", "ill", { policy: { retry: { maxRetries: 3 } } });
	await stage.clock.advance(1000);
	expect(told).toMatchObject([
		{ name: "retried", event: { executionId: ill.id, attempt: 0, reason: "the model is busy", category: "error" } },
		{ name: "failed", event: { executionId: ill.id, attempt: 1, reason: "no such page", category: "permanent" } },
	]);
	const [retried] = told;
	expect(retried?.event).toHaveProperty("retryAt", expect.any(Number));
});

it("a hook tells of work that was lost, once, and why", async () => {
	const stage = await Stage.open();
	const hold = gate();
	const worker = await stage.run(() => hold.passed);
	const told = listen(worker);
	const id = await stage.submit();
	await stage.clock.settle();
	await stage.ff.revokeLease(id, { reason: "maintenance" });
	await stage.clock.settle();
	expect(told).toMatchObject([{ name: "lost", event: { executionId: id, cause: "lease_lost", attempt: 0 } }]);
	hold.open();
});

it("a listener that throws or rejects is logged and harms nothing, and may be taken off again", async () => {
	const stage = await Stage.open();
	const worker = await stage.run(() => "done");
	let heard = 0;
	worker.on("completed", () => {
		throw new Error("no disk");
	});
	worker.on("completed", () => Promise.reject(new Error("no network")));
	const off = worker.on("completed", () => heard++);
	const first = await stage.submit();
	await stage.clock.settle();
	expect([await stage.ff.result(first), heard]).toEqual(["done", 1]);
	const complaints = stage.log.filter((line) => line.startsWith('error a listener of "completed" failed'));
	expect(complaints.join("\n")).toMatch(/no disk[\s\S]*no network/);
	off();
	await stage.submit();
	await stage.clock.settle();
	expect(heard).toBe(1);
});

it("a hook that does not exist is refused with those that do", async () => {
	const stage = await Stage.open();
	const worker = await stage.run(() => "done");
	expect(() => worker.on("compleated" as "completed", () => {})).toThrow(
		"event: must be one of completed, failed, retried, lost",
	);
	expect(() => worker.on("failed", undefined as never)).toThrow("listener: must be a function, got undefined");
});
