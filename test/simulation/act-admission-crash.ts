import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { HoldRecord } from "../../src/kernel/records/hold.ts";
import type { Unit } from "../../src/store/port.ts";
import type { Calm } from "./closing-acts.ts";
import { type Point, strikeAt } from "./strike-at.ts";
import { asTenant } from "./tenants.ts";

const executionsOf = (unit: Unit): ExecutionRecord[] =>
	unit.put.flatMap(({ key, doc }) =>
		key.startsWith("ex_") && !key.includes("/") ? [kernel.decode(key, doc) as ExecutionRecord] : [],
	);

const writes = (unit: Unit, prefix: string): boolean => unit.put.some(({ key }) => key.startsWith(prefix));

const POINTS: Record<string, Point> = {
	"hold and reserve": (unit) => executionsOf(unit).some(({ hold, lease }) => !lease && (hold?.until ?? 0) > 0),
	"reserve and settle": (unit) =>
		executionsOf(unit).length === 0 &&
		unit.put.some(
			({ key, doc }) => key.startsWith("hold:") && (kernel.decode(key, doc) as HoldRecord).givenBackAt === 0,
		),
	"settle and send": (unit) => writes(unit, "outbox:"),
	"block and recheck": (unit) =>
		executionsOf(unit).some(({ eligibilityState }) => /^blocked_by_(budget|quota)$/.test(eligibilityState)),
	"lease and reply": (unit) => executionsOf(unit).some(({ hold, lease }) => hold !== null && lease !== null),
};

const SUBMITTED = 5;
/** A hold that nobody settles, a message that nobody sends, engines that take over: and then the next is served. */
const MOST_MS = 40_000;

/** An engine dies, or stands still, between two steps of admission: all it had taken comes back by itself, and all work comes to its end. */
export async function admissionCrash(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, cluster, world, checker, network } = stage;
	const tenant = stage.someTenant();
	const quota = await calm.makeQuota(tenant, { concurrency: random.integer(1, 2) });
	const budget = await calm.makeBudget(tenant, { dimensions: { tokens: { hard: 100 } } });
	const reserve = { [budget]: { tokens: random.pick([20, 60]) } };
	const made = await calm.submit(tenant, SUBMITTED, { budgets: [budget], quotas: [quota], reserve });
	const where = random.pick(Object.keys(POINTS));
	const struck = strikeAt(stage, POINTS[where] as Point, 2);
	const isDone = () => made.every((id) => calm.record(id).lifecyclePhase === "terminal");
	const end = world.time + MOST_MS;
	while (!isDone() && world.time < end) {
		const request = { workerId: tenant, instanceId: "w1", max: 2, waitMs: 400, leaseMs: 1000 };
		for (const node of cluster.nodes) {
			if (!node.host.alive || !node.ready || world.time < struck.quietUntil) continue;
			stage.settle(
				cluster.call(node, 0, (backend) => asTenant(backend, tenant).leases.claim(request)),
				(heard) => {
					if (heard.kind === "ok") calm.completeAll(node, heard.value);
				},
			);
		}
		await world.runUntil(world.time + 300);
		stage.raise();
		stage.checkCalm();
	}
	calm.require(isDone(), `an engine was lost between ${where}: ${stage.stored(made.find(hasNotEnded(calm)) ?? "")}`);
	await world.runUntil(Math.max(world.time, stage.awakeFrom + 500));
	stage.raise();
	const isFree = () =>
		checker.guards.holdersOf("quota", tenant, quota) + checker.guards.holdersOf("budget", tenant, budget) === 0;
	calm.require(await stage.until(isFree, 12_000), `an engine was lost between ${where}, and ${quota} is still held`);
	network.onApplied = undefined;
	if (!struck.isStruck) return;
	stage.note("engines lost in admission");
	stage.note(`engines lost between ${where}`);
}

const hasNotEnded = (calm: Calm) => (id: string) => calm.record(id).lifecyclePhase !== "terminal";
