import { expect, it } from "vitest";
import { FlowFabricError } from "../../src/contract/errors.ts";
import { LocalExecutions } from "../../src/engine/calls/executions.ts";
import { LocalFlows } from "../../src/engine/calls/flows.ts";
import { Session } from "../../src/engine/calls/session.ts";
import { Engine } from "../../src/engine/engine.ts";
import { HolderNotices } from "../../src/engine/holder-notices.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";

/** Calls whose answer to some command is lost although it was done. */
async function withLostAnswer(isLost: (op: string, command: object) => boolean) {
	const engine = new Engine({ store: new MemoryStore(8, Date.now) });
	await engine.start();
	const session = new Session(engine, new HolderNotices(undefined), 0, { actor: "test" });
	const run = session.runOn.bind(session);
	session.runOn = async (runner, op, command, ofMany) => {
		const outcome = await run(runner, op, command, ofMany);
		if (isLost(op, command)) throw new FlowFabricError("store_unavailable");
		return outcome;
	};
	return { engine, flows: new LocalFlows(session), executions: new LocalExecutions(session) };
}

const keyed = { key: "a", kind: "job", idempotencyKey: "k" };

it("the key of a node stays its member's when only the answer to the last part of its flow was lost", async () => {
	const isLastPart = (op: string, command: object) => op === "buildFlow" && (command as { isLast: boolean }).isLast;
	const { engine, flows, executions } = await withLostAnswer(isLastPart);
	await expect(flows.create({ nodes: [keyed] })).rejects.toMatchObject({ code: "store_unavailable" });
	const [flow] = (await flows.list()).flows;
	const [member] = (await flows.get(flow?.id ?? "")).nodes;
	expect(await executions.create({ kind: "job", idempotencyKey: "k" })).toMatchObject({
		id: member?.executionId,
		created: false,
	});
	await engine.close();
});

it("the key of a node is free again when its flow was given up", async () => {
	const { engine, flows, executions } = await withLostAnswer((op) => op === "holdKey");
	await expect(flows.create({ nodes: [keyed] })).rejects.toMatchObject({ code: "store_unavailable" });
	expect((await flows.list()).flows).toEqual([]);
	expect(await executions.create({ kind: "job", idempotencyKey: "k" })).toMatchObject({ created: true });
	await engine.close();
});

it("a node that is added again after its answer was lost is the same, and so is its key", async () => {
	let isLost = true;
	const { engine, flows, executions } = await withLostAnswer((op) => op === "addMember" && isLost);
	const { id } = await flows.create({ nodes: [], sealed: false });
	await expect(flows.addMember(id, keyed)).rejects.toMatchObject({ code: "store_unavailable" });
	isLost = false;
	const { executionId, created } = await flows.addMember(id, keyed);
	expect(created).toBe(false);
	expect(await executions.create({ kind: "job", idempotencyKey: "k" })).toMatchObject({
		id: executionId,
		created: false,
	});
	await engine.close();
});
