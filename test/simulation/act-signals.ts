import type { SignalReply } from "../../src/contract/replies.ts";
import type { SignalRequest } from "../../src/contract/waitpoints.ts";
import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { ConditionModel, type ModelSignal } from "./condition-model.ts";
import { SIGNALS, SOURCES, someCondition, WAITPOINTS } from "./random-conditions.ts";
import { asTenant, type Tenant } from "./tenants.ts";

/** Enough for all but conditions that no signal fulfils. */
const MOST_SENT = 16;

/** Work waits for signals. Each comes by all engines at once and counts once, and the one that fulfils the condition ends the wait. */
export async function signals(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random } = stage;
	const tenant = stage.someTenant();
	const [id = ""] = await calm.submit(tenant, 1, {});
	const fence = await calm.claimOne(tenant, id);
	const keys = WAITPOINTS.slice(0, random.integer(1, 3));
	const condition = someCondition(random, keys, false);
	const waitpoints = keys.map((key) => ({ key }));
	const reply = await stage.answer((backend) =>
		backend.leases.suspend(id, { fence, reason: "waiting_for_signal", condition, waitpoints }),
	);
	calm.require(reply.status === "suspended", `${id} suspended, and was told ${reply.status}`);

	const sent: ModelSignal[] = [];
	let holds = false;
	for (let n = 0; n < MOST_SENT && !holds; n++) {
		const at = random.pick(reply.waitpoints);
		const signal = { name: random.pick(SIGNALS), source: { type: "person", identity: random.pick(SOURCES) } };
		sent.push({ ...signal, waitpoint: at.key });
		holds = new ConditionModel(condition, keys, sent).holds;
		const request = { ...signal, waitpointId: at.id, token: at.token, idempotencyKey: `n${n}` };
		const { effect } = await sendEverywhere(calm, id, request);
		const isWaiting = calm.record(id).lifecyclePhase === "suspended";
		calm.require(
			holds === (effect === "resumed") && isWaiting === !holds,
			`${id} waits for ${JSON.stringify(condition)}; after ${JSON.stringify(sent)} it was told ${effect}`,
		);
	}
	if (holds) stage.note("waits that signals ended");
	else await stage.answer((backend) => backend.waitpoints.resume(id));
	const closed = await stage.answer((backend) => backend.waitpoints.list(id));
	calm.require(closed.waitpoints.length === 0, `${id} went on, and ${closed.waitpoints[0]?.id} is still open`);
	await goOn(calm, tenant, id);
}

/** All are asked at the same moment: one takes it, the others tell of that one. */
async function sendEverywhere({ stage, require }: Calm, id: string, request: SignalRequest): Promise<SignalReply> {
	const replies: SignalReply[] = [];
	for (const node of stage.cluster.nodes)
		stage.settle(
			stage.cluster.call(node, 0, (backend) => backend.waitpoints.signal(id, request)),
			(heard) => {
				require(heard.kind === "ok", `a signal to ${request.waitpointId} was told ${JSON.stringify(heard)}`);
				if (heard.kind === "ok") replies.push(heard.value);
			},
		);
	const isAnswered = await stage.until(() => replies.length === stage.cluster.nodes.length, PATIENCE_MS);
	require(isAnswered, `a signal to ${request.waitpointId} was not answered`);
	const accepted = replies.filter(({ status }) => status === "accepted");
	const ids = new Set(replies.map(({ signalId }) => signalId));
	require(accepted.length === 1 && ids.size === 1, `a signal sent everywhere was ${JSON.stringify(replies)}`);
	return accepted[0] as SignalReply;
}

/** Whoever waits for work is given it at once, with what it waited for. */
async function goOn(calm: Calm, tenant: Tenant, id: string): Promise<void> {
	const { stage } = calm;
	const who = { workerId: tenant, instanceId: "w1", waitMs: PATIENCE_MS };
	const [claimed] = await stage.answer((backend) => asTenant(backend, tenant).leases.claim(who));
	calm.require(claimed?.id === id, `${id} goes on, and a claim was given ${claimed?.id ?? "nothing"}`);
	if (!claimed) return;
	const states = [calm.record(id)];
	stage.checker.suspensions.checkHandedOver(id, claimed.lease.id, claimed.signals, states);
	const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
	await stage.answer((backend) => backend.leases.complete(id, { fence }));
}
