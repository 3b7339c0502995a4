import { expect, test } from "vitest";
import { losingFirstAnswers } from "./losing-proxy.ts";
import { Stand } from "./stand.ts";

const forGo = { reason: "waiting_for_signal", condition: { signal: "go" } } as const;
const at = [{ key: "w" }];

const twice = (sent: readonly string[], path: string) =>
	expect(sent.filter((call) => call.includes(path))).toHaveLength(2);

test("work is suspended once though the answer is lost, and the holder has its waitpoints", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const { ff, sent } = await losingFirstAnswers(stand);
	const reply = await ff.backend.leases.suspend(id, { fence, ...forGo, waitpoints: at });
	twice(sent, "/suspend");
	expect(reply.status).toBe("suspended");
	const { events } = await stand.backend.executions.events(id);
	expect(events.map(({ type }) => type)).toEqual(["created", "claimed", "suspended"]);
	const { waitpoints } = await stand.backend.waitpoints.list(id, { all: true });
	expect(waitpoints.map((each) => each.id)).toEqual(reply.waitpoints.map((each) => each.id));
});

test("work that is resumed, and taken by another, before the answer arrives is not suspended again", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const { ff, sent } = await losingFirstAnswers(stand, async () => {
		await stand.backend.waitpoints.approve(id, { name: "go" });
		await stand.backend.leases.claim({ workerId: "w", instanceId: "w-2" });
	});
	const reply = await ff.backend.leases.suspend(id, { fence, ...forGo, waitpoints: at });
	twice(sent, "/suspend");
	expect(reply.status).toBe("suspended");
	expect(await stand.backend.executions.get(id)).toMatchObject({
		publicState: "active",
		lease: { instanceId: "w-2", epoch: 2 },
	});
});

test("what held at once holds at once again, with the same signals and the same lease", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const early = await stand.backend.leases.createWaitpoint(id, { fence, key: "w" });
	const { token } = early;
	await stand.backend.waitpoints.signal(id, { waitpointId: early.id, token, name: "go", payload: 7 });
	const { ff, sent } = await losingFirstAnswers(stand);
	const reply = await ff.backend.leases.suspend(id, { fence, ...forGo, waitpoints: at });
	twice(sent, "/suspend");
	expect(reply).toMatchObject({ status: "already_satisfied", signals: [{ name: "go", payload: 7 }] });
	expect((await stand.backend.executions.get(id)).lease?.id).toBe(fence.leaseId);
	expect((await stand.backend.waitpoints.list(id, { all: true })).waitpoints).toHaveLength(1);
});

test("a waitpoint is opened once though the answer is lost", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const { ff, sent } = await losingFirstAnswers(stand);
	const made = await ff.backend.leases.createWaitpoint(id, { fence, key: "w", expiresMs: 60_000 });
	twice(sent, "/waitpoints");
	const { waitpoints } = await stand.backend.waitpoints.list(id);
	expect(waitpoints).toMatchObject([{ id: made.id, state: "pending" }]);
});

test("a signal and a callback count once though their answers are lost", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const condition = { count: { n: 3, distinctBy: "signal" } } as const;
	const { waitpoints } = await stand.backend.leases.suspend(id, { ...forGo, condition, fence, waitpoints: at });
	const [{ id: waitpointId, token } = { id: "", token: "" }] = waitpoints;
	const { ff, sent } = await losingFirstAnswers(stand);
	const signalled = await ff.backend.waitpoints.signal(id, { waitpointId, token, name: "a" });
	expect(signalled).toMatchObject({ status: "duplicate", effect: "appended" });
	const called = await ff.backend.waitpoints.callback(waitpointId, { token, bytes: Buffer.from("x"), name: "b" });
	expect(called).toMatchObject({ status: "duplicate", effect: "appended" });
	twice(sent, "/signals");
	twice(sent, "/callbacks/");
	const { signals } = await stand.backend.waitpoints.signals(id);
	expect(signals.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("a signal without a key, an approval and a resume are not sent again once they may have been heard", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const condition = { allOf: [{ signal: "a" }, { signal: "b" }] };
	const { waitpoints } = await stand.backend.leases.suspend(id, { ...forGo, condition, fence, waitpoints: at });
	const [{ id: waitpointId, token } = { id: "", token: "" }] = waitpoints;
	const { ff, sent } = await losingFirstAnswers(stand);
	const unreachable = { code: "unreachable", retryable: true };
	const calls = ff.backend.waitpoints;
	await expect(calls.signal(id, { waitpointId, token, name: "a", idempotencyKey: "" })).rejects.toMatchObject(
		unreachable,
	);
	await expect(calls.approve(id, { name: "x" })).rejects.toMatchObject(unreachable);
	await expect(calls.resume(id)).rejects.toMatchObject(unreachable);
	expect(sent).toHaveLength(3);
	const { signals } = await stand.backend.waitpoints.signals(id);
	expect(signals.map(({ name }) => name)).toEqual(["a", "x"]);
	// Whoever says it again learns that it is done.
	await expect(calls.resume(id)).rejects.toMatchObject({ code: "execution_not_suspended" });
});

test("children are made once though the answer is lost, and the holder has them", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const { ff, sent } = await losingFirstAnswers(stand);
	const items = [1, 2].map((n) => ({ key: `c${n}`, kind: "job", lane: "kids" }));
	const made = await ff.backend.leases.addChildren(id, { fence, items });
	twice(sent, "/children");
	const { executions } = await stand.backend.executions.list({ parentId: id });
	expect(executions.map((each) => each.id).sort()).toEqual(made.map((each) => each.id).sort());
});

test("work that goes on, and is taken by another, before the answer arrives does not wait again", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const { ff, sent } = await losingFirstAnswers(stand, async () => {
		await stand.backend.leases.claim({ workerId: "w", instanceId: "w-2" });
	});
	expect(await ff.backend.leases.waitChildren(id, { fence, mode: "all" })).toEqual({ publicState: "waiting" });
	twice(sent, "/wait-children");
	expect(await stand.backend.executions.get(id)).toMatchObject({
		publicState: "active",
		lease: { instanceId: "w-2", epoch: 2 },
	});
});
