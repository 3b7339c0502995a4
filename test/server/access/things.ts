import { LONG_MS, type Making, type Name, type Values } from "./names.ts";

const YEAR_MS = 31_536_000_000;

/** What requests name, each with how a tenant comes to have one. */
export const makers: { [N in Name]: (make: Making) => Promise<Values[N]> } = {
	namespace: async ({ tenant }) => tenant.namespace,
	kind: async ({ tenant }) => `${tenant.mark}-kind`,
	lane: async (make) => {
		await make.name("waiting");
		return `${make.tenant.mark}-lane`;
	},
	key: async (make) => {
		await make.name("waiting");
		return `${make.tenant.mark}-key`;
	},
	flowKey: async (make) => {
		await make.name("openFlow");
		return `${make.tenant.mark}-flow-key`;
	},
	tag: async (make) => {
		await make.name("waiting");
		return `team:${make.tenant.mark}-team`;
	},

	/** An execution that nobody has claimed. */
	waiting: async ({ calls, tenant: { namespace, mark, secret } }) => {
		const { id } = await calls.executions.create({
			kind: `${mark}-kind`,
			namespace,
			lane: `${mark}-lane`,
			input: secret,
			tags: { team: `${mark}-team`, note: secret },
			idempotencyKey: `${mark}-key`,
			delayMs: YEAR_MS,
		});
		return id;
	},
	held: async (make) => (await make.holding("held")).id,
	fence: async (make) => (await make.holding("held")).fence,
	/** An execution that a worker runs, and that has children, steps and frames. */
	busy: async (make) => {
		const { id, fence } = await make.holding("busy");
		const { leases } = make.calls;
		const { secret } = make.tenant;
		for (const index of [0, 1])
			await leases.recordStep(id, { fence, name: secret, index, result: secret, startedAt: 0 });
		await leases.appendFrames(id, { fence, frames: [{ text: secret }, { mode: "summary", patch: { secret } }] });
		await leases.progress(id, { fence, message: secret });
		return id;
	},
	busyFence: async (make) => (await make.holding("busy")).fence,
	child: async (make) => {
		const { id, fence } = await make.holding("busy");
		const items = [{ key: "child", kind: `${make.tenant.mark}-kind` }];
		const [child] = await make.calls.leases.addChildren(id, { fence, items });
		if (child?.id === undefined) throw new Error("a child was refused");
		return child.id;
	},
	/** Opened by the holder of `held` before it waits. */
	openWaitpoint: async (make) => {
		const { id, fence } = await make.holding("held");
		return (await make.calls.leases.createWaitpoint(id, { fence, key: "early" })).id;
	},
	suspended: async (make) => (await make.waitingFor()).id,
	waitpoint: async (make) => (await make.waitingFor()).waitpoint.id,
	waitpointKey: async (make) => (await make.waitingFor()).waitpoint.key,
	token: async (make) => (await make.waitingFor()).waitpoint.token,
	ended: async (make) => {
		const { id, fence } = await make.holding("ended");
		await make.calls.leases.complete(id, { fence, result: make.tenant.secret });
		return id;
	},

	openFlow: async ({ calls, tenant: { namespace, mark } }) => {
		const nodes = [`${mark}-a`, `${mark}-b`].map((key) => ({ key, kind: `${mark}-kind`, delayMs: YEAR_MS }));
		const idempotencyKey = `${mark}-flow-key`;
		return (await calls.flows.create({ namespace, kind: `${mark}-flow`, idempotencyKey, nodes, sealed: false })).id;
	},
	node: async (make) => {
		await make.name("openFlow");
		return `${make.tenant.mark}-b`;
	},
	endedFlow: async ({ calls, tenant: { namespace, mark, secret } }) => {
		const nodes = [{ key: `${mark}-a`, kind: `${mark}-kind` }];
		const { id } = await calls.flows.create({ namespace, nodes });
		await calls.flows.cancel(id, { policy: "cancel_all", mode: "force", reason: secret }, { wait: true });
		return id;
	},

	budget: async (make) => {
		const { namespace, mark } = make.tenant;
		await make.calls.budgets.create({ id: `${mark}-budget`, namespace, dimensions: { tokens: { hard: 1000 } } });
		for (const n of [1, 2]) {
			const { id } = await make.calls.executions.create({ kind: `${mark}-kind`, namespace, delayMs: YEAR_MS });
			await make.calls.budgets.usage(`${mark}-budget`, { dims: { tokens: n }, executionId: id }, { namespace });
		}
		return `${mark}-budget`;
	},
	quota: async ({ calls, tenant: { namespace, mark } }) => {
		await calls.quotas.create({ id: `${mark}-quota`, namespace, concurrency: 3 });
		return `${mark}-quota`;
	},
	instance: async ({ calls, tenant: { namespace, mark, secret } }) => {
		const worker = { workerId: secret, namespace, capabilities: [secret], lanes: ["default"] };
		await calls.workers.register(`${mark}-instance`, { ...worker, ttlMs: LONG_MS });
		return `${mark}-instance`;
	},
	/** What a claim was made under, so that it can be said again. */
	claimRequest: async ({ calls, tenant: { namespace, mark } }) => {
		const lane = `${mark}-claims`;
		await calls.executions.create({ kind: `${mark}-kind`, namespace, lane });
		const requestId = `${mark}-request`;
		const worker = { workerId: "w", instanceId: "matrix", namespace, lanes: [lane] };
		await calls.leases.claim({ ...worker, requestId, leaseMs: LONG_MS });
		return requestId;
	},
	grantRequest: async (make) => (await make.granted()).requestId,
	grant: async (make) => (await make.granted()).id,

	executionsCursor: (make) => make.cursor((page) => make.calls.executions.list(page)),
	flowsCursor: async (make) => {
		await make.names("openFlow", "endedFlow");
		return make.cursor((page) => make.calls.flows.list(page));
	},
	lanesCursor: (make) => make.cursor((page) => make.calls.lanes.list(page)),
	budgetsCursor: async (make) => {
		const { namespace, mark } = make.tenant;
		for (const n of [1, 2])
			await make.calls.budgets.create({ id: `${mark}-listed-${n}`, namespace, dimensions: { tokens: { hard: 1 } } });
		return make.cursor((page) => make.calls.budgets.list(page));
	},
	quotasCursor: async (make) => {
		const { namespace, mark } = make.tenant;
		for (const n of [1, 2]) await make.calls.quotas.create({ id: `${mark}-listed-${n}`, namespace, concurrency: 1 });
		return make.cursor((page) => make.calls.quotas.list(page));
	},
	workersCursor: async (make) => {
		const { namespace, mark } = make.tenant;
		const worker = { workerId: "w", namespace, capabilities: [], lanes: ["default"], ttlMs: LONG_MS };
		for (const n of [1, 2]) await make.calls.workers.register(`${mark}-listed-${n}`, worker);
		return make.cursor((page) => make.calls.workers.list(page));
	},
	inboxCursor: async (make) => {
		await make.waitingFor("another");
		await make.waitingFor();
		return make.cursor((page) => make.calls.waitpoints.inbox(page));
	},
	feedCursor: (make) => make.cursor((page) => make.calls.feed.read(page)),
	ledgerCursor: async (make) => {
		const budget = await make.name("budget");
		return make.cursor((page) => make.calls.budgets.ledger(budget, page));
	},
	eventsCursor: async (make) => {
		const id = await make.name("busy");
		return make.cursor(({ limit }) => make.calls.executions.events(id, { limit }));
	},
	flowEventsCursor: async (make) => {
		const id = await make.name("openFlow");
		return make.cursor(({ limit }) => make.calls.flows.events(id, { limit }));
	},
	stepsCursor: async (make) => {
		const id = await make.name("busy");
		return make.cursor(({ limit }) => make.calls.executions.steps(id, { limit }));
	},
};
