import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { HoldRecord } from "../../src/kernel/records/hold.ts";
import type { Unit } from "../../src/store/port.ts";
import type { Calm } from "./closing-acts.ts";
import type { Node } from "./cluster.ts";
import type { Stage } from "./stage.ts";
import { asTenant } from "./tenants.ts";

/** A unit behind which the next step of admission is never made by the one who made this. */
type Point = (unit: Unit) => boolean;

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
	const struck = strikeAt(stage, POINTS[where] as Point);
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

/**
 * The engine that commits one of the first such units dies of it, and is started again a little later; or it stands
 * still, and all the work is there when it goes on if nobody claims until then.
 */
function strikeAt(stage: Stage, isPoint: Point): { isStruck: boolean; quietUntil: number } {
	const { cluster, network, random, world } = stage;
	const struck = { isStruck: false, quietUntil: 0 };
	let passing = random.integer(0, 2);
	network.onApplied = (unit, engine) => {
		if (struck.isStruck || !isPoint(unit) || passing-- > 0) return;
		const slot = cluster.nodes.findIndex(({ host }: Node) => host.name === engine && host.alive);
		if (slot < 0) return;
		struck.isStruck = true;
		if (random.chance(0.5)) {
			// For longer than a hold lasts, and others take to see to it: what it then does is about holds that are over.
			const stillMs = random.integer(5200, 12_000);
			stage.awakeFrom = world.time + stillMs;
			if (random.chance(0.7)) struck.quietUntil = stage.awakeFrom + 500;
			world.after(0, () => cluster.nodes[slot]?.host.pause(stillMs, random.chance(0.5)));
			return;
		}
		// The unit is applied, and its engine never hears of it, or only of that.
		world.after(random.pick([0, 0, 5]), () => cluster.crash(slot));
		world.after(random.integer(50, 1000), () => cluster.start(slot));
	};
	return struck;
}
