import { expect } from "vitest";
import type { Condition } from "../../../src/index.ts";
import type { Held, PublicCase, Scene } from "../scene.ts";
import { namesOf, send, suspend, suspended, wait } from "../suspended-work.ts";

const both: Condition = { allOf: [{ signal: "go" }, { signal: "ok" }] };

/** Ends work that waits, and has it go on with all it had. */
async function cancelAndReplay(scene: Scene, id: string): Promise<Held> {
	await scene.backend.executions.cancel(id, { mode: "force" });
	await scene.backend.executions.replay(id, { keepSteps: true });
	return scene.take();
}

/** What becomes of a wait that the end of its execution cut short, when a replay keeps what there was. */
export function replayedWaitCases(test: PublicCase): void {
	test("a waitpoint that the end had closed opens again, with its token", async (scene) => {
		const work = await suspended(scene);
		const again = await wait(scene, await cancelAndReplay(scene, work.id));
		expect(again.at()).toEqual(work.at());
		expect(await work.send()).toMatchObject({ effect: "resumed" });
	});

	test("signals that a wait had counted when its execution ended count for it again", async (scene) => {
		const work = await suspended(scene, { condition: both });
		expect(await work.send("go", { idempotencyKey: "k" })).toMatchObject({ effect: "appended" });
		const again = await wait(scene, await cancelAndReplay(scene, work.id), { condition: both });
		// Whoever has said it need not say it again, and is told so.
		expect(await work.send("go", { idempotencyKey: "k" })).toMatchObject({ status: "duplicate" });
		expect(await again.send("ok")).toMatchObject({ effect: "resumed" });
		expect(namesOf((await scene.take()).signals)).toEqual(["go", "ok"]);
	});

	test("of several waitpoints each keeps its own for whoever waits there next", async (scene) => {
		const waitpoints = [{ key: "a" }, { key: "b" }];
		const condition: Condition = { count: { n: 3, distinctBy: "source" } };
		const work = await suspended(scene, { waitpoints, condition });
		await work.send("go", { to: "a", source: { type: "person", identity: "ann" } });
		await work.send("go", { to: "b", source: { type: "person", identity: "bob" } });
		const held = await cancelAndReplay(scene, work.id);
		const first = await suspend(scene, held, { waitpoints: [{ key: "a" }] });
		expect(first).toMatchObject({ status: "already_satisfied", signals: [{ waitpoint: "a" }] });
		const second = await suspend(scene, held, { waitpoints: [{ key: "b" }] });
		expect(second).toMatchObject({ status: "already_satisfied", signals: [{ waitpoint: "b" }] });
	});

	test("what an execution waited for under a key when it ended is waited for once more", async (scene) => {
		const waiting = { idempotencyKey: "approval" };
		const work = await suspended(scene, waiting);
		const held = await cancelAndReplay(scene, work.id);
		const again = await wait(scene, held, waiting);
		expect(again.reply.suspensionId).not.toBe(work.reply.suspensionId);
		await again.send();
		expect(await suspend(scene, await scene.take(), waiting)).toMatchObject({
			status: "already_satisfied",
			suspensionId: again.reply.suspensionId,
			signals: [{ name: "go" }],
		});
	});

	test("so is what it failed over when it timed out, at a new waitpoint", async (scene) => {
		const waiting = { idempotencyKey: "approval", timeoutMs: 1000 };
		const work = await suspended(scene, waiting);
		await scene.clock.advance(1000);
		expect((await scene.get(work.id)).publicState).toBe("failed");
		await scene.backend.executions.replay(work.id, { keepSteps: true });
		const again = await wait(scene, await scene.take(), waiting);
		expect(again.at().id).not.toBe(work.at().id);
	});

	test("claims carry what the last wait had, also when its execution ended over it", async (scene) => {
		const first = await suspended(scene);
		await first.send("go");
		const work = await wait(scene, await scene.take(), { condition: both });
		await send(scene, work.id, work.at(), "ok");
		const held = await cancelAndReplay(scene, work.id);
		expect(namesOf(held.signals)).toEqual(["ok"]);
	});
}
