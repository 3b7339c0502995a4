import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { type Calm, PATIENCE_MS, TAKE_OVER_MS } from "./closing-acts.ts";
import type { Held } from "./lease-requests.ts";
import { frameName, someFrame } from "./stream-frames.ts";
import { StreamReaders } from "./stream-readers.ts";
import { asTenant, type Tenant } from "./tenants.ts";

/** Longer than all the waiting until everybody has seen a frame. */
const LEASE_MS = 20_000;

/** How an attempt may end. Where nobody does anything its lease lapses. */
const ENDS: Record<string, (backend: LocalBackend, held: Held) => Promise<unknown>> = {
	complete: (backend, { id, fence }) => backend.leases.complete(id, { fence }),
	fail: (backend, { id, fence }) => backend.leases.fail(id, { fence, reason: "no" }),
	retry: (backend, { id, fence }) => backend.leases.fail(id, { fence, reason: "no", retryable: true, retryAfterMs: 1 }),
	cancel: (backend, { id }) => backend.executions.cancel(id, { mode: "force" }),
	revoke: (backend, { id }) => backend.executions.revokeLease(id),
	lapse: async () => {},
};

/** Streams that readers wait for at every engine, from before there is anything to read: all hear at once of their ends. */
export async function streamEnds(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, cluster } = stage;
	const tenant = stage.someTenant();
	const policy = random.chance(0.5) ? { policy: { stream: { maxFrames: 20 } } } : {};
	const [id = ""] = await calm.submit(tenant, 1, policy);
	const readers = new StreamReaders(stage, []);
	for (let n = 0; n < 2 * cluster.nodes.length; n++)
		for (const attempt of [0, 0, 1]) readers.begin(id, attempt, n % 2 === 0);
	const how = random.pick(Object.keys(ENDS));
	for (let attempt = 0; calm.record(id).lifecyclePhase !== "terminal"; attempt++) {
		const held = await claim(calm, tenant, id);
		const count = random.integer(1, 5);
		for (let n = 0, seq = 0; n < count; n++) {
			const length = random.pick([1, 3, 50]);
			const frames = Array.from({ length }, (_, place) => {
				seq += 1;
				const frame = place === length - 1 ? { text: "last" } : someFrame(random);
				return { ...frame, type: frameName(held, seq, true), seq };
			});
			// Twice, as by somebody whose answer was lost; by different engines as likely as not.
			const append = (backend: LocalBackend) => backend.leases.appendFrames(id, { fence: held.fence, frames });
			const first = await stage.answer(append);
			const again = await stage.answer(append);
			calm.require(first.frameCount === again.frameCount, `${id}: frames that were sent again were kept again`);
			const isSeen = await stage.until(() => readers.haveSeen(attempt, first.lastId), PATIENCE_MS);
			calm.require(isSeen, `stream ${id}/${attempt}: ${first.lastId} was kept, and not all who wait were shown it`);
		}
		const end = (attempt === 0 && ENDS[how]) || ENDS.complete;
		await stage.answer((backend) => (end as NonNullable<typeof end>)(backend, held));
		const isOver = () => calm.record(id).attempt?.endedAt !== undefined;
		const isEnded = await stage.until(isOver, how === "lapse" ? LEASE_MS + TAKE_OVER_MS + PATIENCE_MS : PATIENCE_MS);
		calm.require(isEnded, `${id} was to ${how}, and goes on`);
	}
	await stage.until(() => readers.areAllDone, PATIENCE_MS);
	readers.checkEnded();
	stage.note("ends of streams heard of at once");
}

async function claim({ stage, require }: Calm, tenant: Tenant, id: string): Promise<Held> {
	const who = { workerId: tenant, instanceId: "w1", leaseMs: LEASE_MS, waitMs: 1000 };
	const [claimed] = await stage.answer((backend) => asTenant(backend, tenant).leases.claim(who));
	require(claimed?.id === id, `${id} is all there is, and a claim was given ${claimed?.id ?? "nothing"}`);
	return { id, fence: { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 } };
}
