import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Unit } from "../../src/store/port.ts";
import type { Calm } from "./closing-acts.ts";
import { insist } from "./insist.ts";
import { type Point, strikeAt } from "./strike-at.ts";
import { asTenant } from "./tenants.ts";

const executionsOf = (unit: Unit): ExecutionRecord[] =>
	unit.put.flatMap(({ key, doc }) =>
		key.startsWith("ex_") && !key.includes("/") ? [kernel.decode(key, doc) as ExecutionRecord] : [],
	);

const writes = (unit: Unit, part: RegExp): boolean => unit.put.some(({ key }) => part.test(key));

const POINTS: Record<string, Point> = {
	"waitpoint and reply": (unit) => writes(unit, /^wp_/) && !writes(unit, /^ex_\w+\/u/),
	"suspend and reply": (unit) => executionsOf(unit).some(({ suspension }) => suspension !== null),
	"signal and reply": (unit) => writes(unit, /^ex_\w+\/s/),
	"resume and claim": (unit) => writes(unit, /^ex_\w+\/s/) && executionsOf(unit).some((each) => !each.suspension),
};

/** An engine dies, or stands still, in the middle of a wait: whoever hears nothing says it again, and nothing is done twice. */
export async function suspensionCrash(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, network } = stage;
	const tenant = stage.someTenant();
	const [id = ""] = await calm.submit(tenant, 1, {});
	const fence = await calm.claimOne(tenant, id);
	const where = random.pick(Object.keys(POINTS));
	const struck = strikeAt(stage, POINTS[where] as Point, where === "signal and reply" ? 1 : 0);
	const early = await insist(stage, (backend) => backend.leases.createWaitpoint(id, { fence, key: "w" }));
	const reply = await insist(stage, (backend) =>
		backend.leases.suspend(id, {
			fence,
			reason: "waiting_for_approval",
			condition: { count: { n: 2, distinctBy: "source" } },
			waitpoints: [{ key: "w" }],
		}),
	);
	calm.require(
		reply.status === "suspended" && reply.waitpoints[0]?.id === early.id,
		`an engine was lost between ${where}: ${id} has ${early.id}, and was told ${JSON.stringify(reply)}`,
	);
	for (const identity of ["ann", "bob"]) {
		const signal = { name: "go", source: { type: "person", identity }, idempotencyKey: identity };
		const letter = { ...signal, waitpointId: early.id, token: early.token };
		const { effect } = await insist(stage, (backend) => backend.waitpoints.signal(id, letter));
		const expected = identity === "ann" ? "appended" : "resumed";
		calm.require(effect === expected, `an engine was lost between ${where}: the signal of ${identity} was ${effect}`);
	}
	const [claimed] = await insist(stage, (backend) =>
		asTenant(backend, tenant).leases.claim({ workerId: tenant, instanceId: "w1", requestId: id, waitMs: 500 }),
	);
	calm.require(claimed?.signals.length === 2, `${id} goes on with ${JSON.stringify(claimed?.signals)}`);
	const next = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	await insist(stage, (backend) => backend.leases.complete(id, { fence: next }));
	network.onApplied = undefined;
	await stage.world.runUntil(Math.max(stage.world.time, stage.awakeFrom + 500));
	if (struck.isStruck) stage.note("engines lost in a wait");
}
