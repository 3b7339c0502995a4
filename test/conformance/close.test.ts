import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FlowFabric, FlowFabricError } from "../../src/index.ts";

const worker = { workerId: "w", instanceId: "w-1" };

async function urlOf(store: string): Promise<string> {
	if (store === "memory") return "memory:";
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	onTestFinished(() => rm(folder, { recursive: true }));
	return `sqlite:${join(folder, "store.db")}`;
}

/** What a program sees of an engine in its own process that it has closed. */
for (const store of ["memory", "sqlite"]) {
	describe(`closing FlowFabric on ${store}`, () => {
		it("ends a waiting claim", async () => {
			const ff = await FlowFabric.open(await urlOf(store));
			const waiting = ff.backend.leases.claim({ ...worker, waitMs: 30_000 }).catch((error: unknown) => error);
			await ff.list();
			await ff.close();
			const answer = await waiting;
			if (answer instanceof Error) expect(answer).toMatchObject({ code: "shutting_down" });
			else expect(answer).toEqual([]);
		});

		it("ends a wait for an execution", async () => {
			const ff = await FlowFabric.open(await urlOf(store));
			const { id } = await ff.submit("job");
			const waiting = ff.wait(id).catch((error: unknown) => error);
			await ff.list();
			await ff.close();
			expect(await waiting).toMatchObject({ code: "shutting_down", status: 503, retryable: true });
		});

		it("lets calls under way be answered", async () => {
			const ff = await FlowFabric.open(await urlOf(store));
			const answers = Promise.allSettled(Array.from({ length: 20 }, () => ff.submit("job")));
			await ff.list();
			await ff.close();
			for (const answer of await answers) {
				if (answer.status === "rejected") expect(answer.reason).toMatchObject({ code: "shutting_down" });
			}
		});

		it("twice is closing once", async () => {
			const ff = await FlowFabric.open(await urlOf(store));
			await Promise.all([ff.close(), ff.close()]);
			await ff.close();
		});

		it("makes every later call refused as shutting_down", async () => {
			const ff = await FlowFabric.open(await urlOf(store));
			const { id } = await ff.submit("job", { a: 1 });
			const [claimed] = await ff.backend.leases.claim(worker);
			if (!claimed) throw new Error("nothing was claimed");
			const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
			await ff.close();
			const { backend } = ff;
			const calls: Record<string, () => Promise<unknown>> = {
				submit: () => ff.submit("job"),
				get: () => ff.get(id),
				list: () => ff.list(),
				input: () => backend.executions.input(id),
				result: () => ff.result(id),
				wait: () => ff.wait(id),
				events: () => ff.events(id),
				attempts: () => ff.attempts(id),
				cancel: () => ff.cancel(id),
				replay: () => ff.replay(id),
				delete: () => ff.delete(id),
				claim: () => backend.leases.claim(worker),
				complete: () => backend.leases.complete(id, { fence }),
				release: () => backend.leases.release(id, { fence }),
			};
			const codes: Record<string, unknown> = {};
			for (const [name, call] of Object.entries(calls)) {
				codes[name] = await call().then(
					() => "answered",
					(error: unknown) => (error instanceof FlowFabricError ? error.code : error),
				);
			}
			expect(codes).toEqual(Object.fromEntries(Object.keys(calls).map((name) => [name, "shutting_down"])));
		});

		it("answers many items of a joint call one by one all the same", async () => {
			const ff = await FlowFabric.open(await urlOf(store));
			await ff.close();
			const items = await ff.backend.executions.createMany([{ kind: "job" }, { kind: "" }]);
			expect(items.map(({ error }) => error?.code)).toEqual(["shutting_down", "invalid_input"]);
		});
	});
}
