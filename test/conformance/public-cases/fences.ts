import { expect } from "vitest";
import type { Backend } from "../../../src/index.ts";
import { type FenceLike, foreignFence, type Held, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

/** Every write by a worker, each with a body that is good. */
const commands: Record<string, (backend: Backend, id: string, fence?: FenceLike) => Promise<unknown>> = {
	complete: (backend, id, fence) => backend.leases.complete(id, { ...shown(fence), result: 1 }),
	fail: (backend, id, fence) => backend.leases.fail(id, { ...shown(fence), reason: "broken" }),
	delay: (backend, id, fence) => backend.leases.delay(id, { ...shown(fence), delayMs: 1000 }),
	release: (backend, id, fence) => backend.leases.release(id, shown(fence)),
	progress: (backend, id, fence) => backend.leases.progress(id, { ...shown(fence), percent: 50 }),
};
const ending = ["complete", "fail", "delay", "release"] as const;

function shown(fence: FenceLike | undefined): { fence?: FenceLike } {
	return fence ? { fence } : {};
}

const policy = { retry: { backoff: { type: "fixed" as const, delayMs: 1000 } } };

export function fenceCases(test: PublicCase): void {
	for (const [name, command] of Object.entries(commands)) {
		test(`${name} with the fence of the live lease is accepted`, async (scene) => {
			const { id, fence } = await scene.start();
			await command(scene.backend, id, fence);
		});

		test(`${name} is accepted until the lease is over, however late`, async (scene) => {
			const { id, fence } = await scene.start({}, { leaseMs: 1000 });
			await scene.clock.advance(999);
			await command(scene.backend, id, fence);
		});

		test(`${name} after the lease lapsed is refused as lease_expired and changes nothing`, async (scene) => {
			const held = await scene.start({}, { leaseMs: 1000 });
			await scene.clock.advance(1000);
			await expectUnchanged(scene, held, "lease_expired", () => command(scene.backend, held.id, held.fence));
		});

		test(`${name} after the lease was revoked is refused as lease_revoked and changes nothing`, async (scene) => {
			const held = await scene.start();
			await scene.backend.executions.revokeLease(held.id);
			await expectUnchanged(scene, held, "lease_revoked", () => command(scene.backend, held.id, held.fence));
		});

		test(`${name} with a foreign fence is refused as stale_lease and changes nothing`, async (scene) => {
			const held = await scene.start();
			const { leaseId, epoch } = held.fence;
			for (const fence of [foreignFence, { leaseId, epoch: epoch + 1 }, { leaseId: foreignFence.leaseId, epoch }]) {
				await expectUnchanged(scene, held, "stale_lease", () => command(scene.backend, held.id, fence));
			}
		});

		test(`${name} without a fence is refused as fence_required and changes nothing`, async (scene) => {
			const held = await scene.start();
			await expectUnchanged(scene, held, "fence_required", () => command(scene.backend, held.id), 400);
		});

		test(`${name} is refused by what is missing first: execution, then fence, then state`, async (scene) => {
			const { id, fence } = await scene.finished();
			const call = (of: string, shows?: FenceLike) => refusal(command(scene.backend, of, shows));
			expect((await call(unknownId)).code).toBe("execution_not_found");
			expect((await call(unknownId, foreignFence)).code).toBe("execution_not_found");
			expect((await call(id)).code).toBe("fence_required");
			expect((await call(id, foreignFence)).code).toBe("stale_lease");
			if (name !== "complete") expect((await call(id, fence)).code).toBe("execution_not_active");
		});

		test(`${name} with the fence of work never claimed is refused as stale_lease`, async (scene) => {
			const id = await scene.create();
			expect((await refusal(command(scene.backend, id, foreignFence))).code).toBe("stale_lease");
		});
	}

	for (const first of ending) {
		test(`${first} repeated gives its first answer and changes nothing`, async (scene) => {
			const { id, fence } = await scene.start({ policy });
			const answer = await commands[first]?.(scene.backend, id, fence);
			const before = [await scene.get(id), await scene.events(id), await scene.backend.executions.attempts(id)];
			expect(await commands[first]?.(scene.backend, id, fence)).toEqual(answer);
			await scene.clock.advance(500);
			expect(await commands[first]?.(scene.backend, id, fence)).toEqual(answer);
			expect([await scene.get(id), await scene.events(id), await scene.backend.executions.attempts(id)]).toEqual(
				before,
			);
		});

		for (const other of Object.keys(commands).filter((name) => name !== first)) {
			test(`${other} after ${first} is refused as execution_not_active, telling outcome, epoch and attempt`, async (scene) => {
				const held = await scene.start({ policy });
				await commands[first]?.(scene.backend, held.id, held.fence);
				const error = await expectUnchanged(scene, held, "execution_not_active", async () =>
					commands[other]?.(scene.backend, held.id, held.fence),
				);
				const outcome = first === "complete" ? "success" : "none";
				expect(error.details).toMatchObject({ outcome, epoch: 1, attempt: 0 });
			});
		}
	}

	test("a fail that ended the execution gives its first answer again", async (scene) => {
		const { id, fence } = await scene.start();
		expect(await scene.backend.leases.fail(id, { fence, reason: "broken" })).toEqual({ publicState: "failed" });
		expect(await scene.backend.leases.fail(id, { fence, reason: "other words" })).toEqual({ publicState: "failed" });
		expect((await scene.get(id)).failure?.reason).toBe("broken");
	});

	test("a fail that scheduled a retry gives its first answer again, even after the retry was due", async (scene) => {
		const { id, fence } = await scene.start({ policy });
		const answer = await scene.backend.leases.fail(id, { fence, reason: "broken" });
		expect(answer).toEqual({ publicState: "delayed", retryAt: scene.now + 1000 });
		await scene.clock.advance(1500);
		expect(await scene.backend.leases.fail(id, { fence, reason: "broken" })).toEqual(answer);
		expect((await scene.get(id)).retries).toBe(1);
	});

	test("a lost holder cannot touch work that another holds now", async (scene) => {
		const old = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(1000);
		const next = await scene.take({ instanceId: "instance-2" });
		expect(next).toMatchObject({ id: old.id, fence: { epoch: 2 } });
		const before = await scene.get(old.id);
		for (const command of Object.values(commands)) {
			expect(await refusal(command(scene.backend, old.id, old.fence))).toMatchObject({ status: 409 });
		}
		expect(await scene.get(old.id)).toEqual(before);
		expect(await scene.backend.leases.complete(next.id, { fence: next.fence })).toEqual({ publicState: "completed" });
	});

	test("a lease two claims ago is stale", async (scene) => {
		const first = await scene.start();
		await scene.backend.leases.release(first.id, { fence: first.fence });
		const second = await scene.take();
		await scene.backend.leases.release(second.id, { fence: second.fence });
		expect((await refusal(scene.backend.leases.release(first.id, { fence: first.fence }))).code).toBe("stale_lease");
		expect(await scene.backend.leases.release(second.id, { fence: second.fence })).toEqual({ publicState: "waiting" });
	});

	test("every new lease of an execution has the next epoch and its own id", async (scene) => {
		const leases: FenceLike[] = [];
		await scene.create();
		for (let n = 0; n < 5; n++) {
			const { id, fence } = await scene.take();
			leases.push(fence);
			await scene.backend.leases.release(id, { fence });
		}
		expect(leases.map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4, 5]);
		expect(new Set(leases.map(({ leaseId }) => leaseId)).size).toBe(5);
	});

	test("the holder of work that was cancelled by force hears that it is not active", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.executions.cancel(id, { mode: "force" });
		for (const command of Object.values(commands)) {
			const error = await refusal(command(scene.backend, id, fence));
			expect(error).toMatchObject({
				code: "execution_not_active",
				details: { outcome: "cancelled", epoch: 1, attempt: 0 },
			});
		}
	});
}

async function expectUnchanged(scene: Scene, { id }: Held, code: string, call: () => Promise<unknown>, status = 409) {
	const before = [await scene.get(id), await scene.events(id), await scene.backend.executions.attempts(id)];
	const error = await refusal(call());
	expect(error).toMatchObject({ code, status, retryable: false });
	expect([await scene.get(id), await scene.events(id), await scene.backend.executions.attempts(id)]).toEqual(before);
	return error;
}
