/**
 * Uses every feature of a server at once until SIGTERM, and sees to what it began: it answers what waits for people and
 * follows streams to their end. Each line it says was acknowledged to it:
 *
 *   ack <kind> <execution>               a submission
 *   flow <flow> <execution of its last>  a flow of four nodes
 *   answered <execution> <payload>       a signal or an approval that was taken
 *   tailed <execution> <text,…>          all frames that a tail gave, to its end
 *   refused <code>                       a submission was not taken; it is tried again
 *   ended <execution>
 *   settled                              after SIGTERM: all it began has ended
 */
import { setTimeout as pause } from "node:timers/promises";
import { FlowFabric, FlowFabricError } from "../../../dist/index.js";

const [url, name] = process.argv.slice(2);
const MOST_AT_ONCE = 24;
const say = (line) => process.stdout.write(`${line}\n`);
const ff = FlowFabric.connect(url, { timeoutMs: 5000 });
let stopping = false;
process.once("SIGTERM", () => {
	stopping = true;
});

/** Tries until it is known what came of it, as a program has to that cannot do without. */
async function insist(call) {
	for (;;) {
		try {
			return await call();
		} catch (error) {
			if (!(error instanceof FlowFabricError) || !error.retryable) throw error;
			say(`refused ${error.code}`);
			await pause(50);
		}
	}
}

const policy = { retry: { maxRetries: 1000, backoff: { type: "fixed", delayMs: 50 } }, maxReclaims: 10_000 };

await insist(() => ff.budgets.create({ id: "team", dimensions: { tokens: { hard: 1_000_000_000 } } }));
// Little and often, so that work is blocked and let go all the while.
await insist(() => ff.budgets.create({ id: "trickle", dimensions: { calls: { hard: 20 } }, resetEvery: 1000 }));
await insist(() => ff.quotas.create({ id: "provider", concurrency: 3, rate: { max: 50, windowMs: 1000 } }));

async function submitted(kind, input, options) {
	const { id } = await insist(() => ff.submit(kind, input, { policy, ...options }));
	say(`ack ${kind} ${id}`);
	return id;
}

const makers = [
	async (key) => {
		const guards = { budgets: ["team", "trickle"], quotas: ["provider"], reserve: { team: { tokens: 10 } } };
		await ended(await submitted("guarded", { tokens: 7 }, { ...key, ...guards }));
	},
	async (key) => {
		const id = await submitted("asking", undefined, key);
		await answer(id, key.idempotencyKey);
		await ended(id);
	},
	async (key) => {
		const id = await submitted("streaming", undefined, key);
		await tail(id);
		await ended(id);
	},
	async (key) => ended(await submitted("stepping", undefined, key)),
	async (key) => ended(await submitted("parent", undefined, key)),
	async (key) => ended(await submitted("flaky", undefined, { ...key, delayMs: 200 })),
	async (key) => {
		const flow = await insist(() => startFlow(key));
		say(`flow ${flow.id} ${flow.nodes.d}`);
		await ended(flow.nodes.d);
	},
];

/** a → b, c → d, where b fails at first. All of it is paid for by one budget. */
function startFlow({ idempotencyKey }) {
	const node = { policy, lane: "flows" };
	return ff
		.flow("diamond", { idempotencyKey, budgets: ["team"] })
		.node("a", "node", false, node)
		.node("b", "node", true, { ...node, after: ["a"] })
		.node("c", "node", false, { ...node, after: ["a"], quotas: ["provider"] })
		.node("d", "node", false, { ...node, after: ["b", "c"] })
		.start();
}

/** Waits until it is asked for, then answers: by name as an operator, or twice with the waitpoint's own token. */
async function answer(id, payload) {
	const isOpen = async () => (await ff.waitpoints.list(id)).waitpoints.find(({ state }) => state === "active");
	for (let from = {}; ; ) {
		const waitpoint = await insist(isOpen);
		if (waitpoint) {
			const isTaken = /[02468]$/.test(payload) ? await approve(id, payload) : await signal(id, waitpoint.id, payload);
			if (isTaken) return;
		}
		const { events, nextCursor } = await insist(() => ff.events(id, { ...from, waitMs: 1000 }));
		// An approval whose answer was lost may have been taken.
		if (events.some(({ type }) => type === "resumed")) return;
		from = { cursor: nextCursor };
	}
}

async function signal(id, waitpointId, payload) {
	const { token } = await insist(() => ff.waitpoints.token(id, waitpointId));
	const request = { waitpointId, token, name: "approve", payload, idempotencyKey: payload };
	const first = await insist(() => ff.signal(id, request));
	const again = await insist(() => ff.signal(id, request));
	if (again.status !== "duplicate" || again.signalId !== first.signalId)
		throw new Error(`${id}: the signal ${payload} was taken twice: ${JSON.stringify([first, again])}`);
	say(`answered ${id} ${payload}`);
	return true;
}

/** Without a key it cannot be sent again: if the answer was lost, the next look tells whether it still waits. */
async function approve(id, payload) {
	try {
		await ff.approve(id, { name: "approve", payload });
	} catch (error) {
		if (error instanceof FlowFabricError) return false;
		throw error;
	}
	say(`answered ${id} ${payload}`);
	return true;
}

/** A tail outlives its server; what it had is not given again. */
async function tail(id) {
	const texts = [];
	let from = {};
	await insist(async () => {
		for await (const { text, id: after, attempt, mode } of ff.tail(id, from)) {
			from = { attempt, after };
			if (mode === "durable") texts.push(text);
		}
	});
	say(`tailed ${id} ${texts.join(",")}`);
}

async function ended(id) {
	for (;;) {
		const { state } = await insist(() => ff.wait(id, { timeoutMs: 10_000 }));
		if (state.lifecyclePhase === "terminal") return say(`ended ${id}`);
	}
}

async function asker(place) {
	for (let n = place; !stopping; n += MOST_AT_ONCE) {
		const make = makers[n % makers.length];
		await make({ idempotencyKey: `${name}-${n}` });
	}
}
say("ready");
await Promise.all(Array.from({ length: MOST_AT_ONCE }, (_, place) => asker(place)));
say("settled");
await ff.close();
