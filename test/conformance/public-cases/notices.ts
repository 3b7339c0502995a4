import { expect } from "vitest";
import type { WorkerNotice } from "../../../src/index.ts";
import type { PublicCase, Scene } from "../scene.ts";

/** What a worker hears at once about work it holds. */
export function noticeCases(test: PublicCase): void {
	test("a holder hears at once of a cancel, and why", async (scene) => {
		const heard = listen(scene);
		const { id, fence } = await scene.start();
		await scene.backend.executions.cancel(id, { reason: "enough" });
		await scene.clock.settle();
		expect(heard).toEqual([{ type: "cancel_requested", executionId: id, ...fence, reason: "enough" }]);
	});

	test("a holder hears of its lease being revoked, cancelled by force, timed out or past its deadline", async (scene) => {
		const heard = listen(scene);
		const revoked = await scene.start();
		await scene.backend.executions.revokeLease(revoked.id);
		const forced = await scene.start({ kind: "f" }, { kinds: ["f"] });
		await scene.backend.executions.cancel(forced.id, { mode: "force" });
		const late = await scene.start({ kind: "l", policy: { timeouts: { attemptMs: 100 } } }, { kinds: ["l"] });
		const past = await scene.start({ kind: "p", policy: { timeouts: { deadlineMs: 200 } } }, { kinds: ["p"] });
		await scene.clock.advance(200);
		expect(heard.map(({ type, executionId }) => [type, executionId])).toEqual([
			["lease_lost", revoked.id],
			["lease_lost", forced.id],
			["lease_lost", late.id],
			["lease_lost", past.id],
		]);
	});

	test("a holder hears of a lease that lapsed", async (scene) => {
		const heard = listen(scene);
		const { id, fence } = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(1000);
		expect(heard).toMatchObject([{ type: "lease_lost", executionId: id, ...fence }]);
	});

	test("a holder does not hear of what it did itself", async (scene) => {
		const heard = listen(scene);
		await scene.finished();
		const failed = await scene.start();
		await scene.backend.leases.fail(failed.id, { fence: failed.fence, reason: "broken" });
		const released = await scene.start();
		await scene.backend.leases.release(released.id, { fence: released.fence });
		await scene.clock.settle();
		expect(heard).toEqual([]);
	});

	test("only the instance that holds the work hears of it", async (scene) => {
		const other = listen(scene, "instance-2");
		const mine = listen(scene);
		const { id } = await scene.start();
		await scene.backend.executions.cancel(id);
		await scene.clock.settle();
		expect(mine).toHaveLength(1);
		expect(other).toEqual([]);
	});

	test("nothing is heard once listening has ended", async (scene) => {
		const heard: WorkerNotice[] = [];
		const stop = scene.backend.leases.notices("instance-1", (notice) => heard.push(notice));
		const { id } = await scene.start();
		await scene.clock.settle();
		stop();
		await scene.backend.executions.cancel(id);
		await scene.clock.settle();
		expect(heard).toEqual([]);
	});
}

function listen(scene: Scene, instanceId = "instance-1"): WorkerNotice[] {
	const heard: WorkerNotice[] = [];
	scene.backend.leases.notices(instanceId, (notice) => heard.push(notice));
	return heard;
}
