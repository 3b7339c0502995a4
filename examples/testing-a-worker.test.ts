import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { FlowFabric } from "flowfabric";
import { openTest, type TestFabric } from "flowfabric/testing";

type Kinds = { greet: { input: { name: string }; result: string } };

const DAY = 86_400_000;

/** The code under test. In a real program it is in a file of its own, and gets any `FlowFabric`. */
async function startGreeter(ff: FlowFabric<Kinds>, mail: (text: string) => Promise<void>): Promise<void> {
	const worker = ff.worker();
	worker.handle("greet", async (ctx, { name }) => {
		await ctx.step("welcome", () => mail(`Welcome, ${name}!`));
		await ctx.sleep(DAY);
		await ctx.step("ask", () => mail(`How was your first day, ${name}?`));
		return `${name} was asked`;
	});
	await worker.start();
}

let ff: TestFabric<Kinds>;
let mails: string[];
const sendAtOnce = async (text: string) => void mails.push(text);

beforeEach(async () => {
	ff = await openTest<Kinds>();
	mails = [];
});
afterEach(() => ff.close());

test("the second mail goes out a day after the first", async () => {
	await startGreeter(ff, sendAtOnce);
	const run = await ff.submit("greet", { name: "Ada" });
	await ff.advance(DAY - 1000);
	assert.deepEqual(mails, ["Welcome, Ada!"]);
	assert.equal((await ff.get(run.id)).publicState, "suspended");

	await ff.advance(1000);
	assert.deepEqual(mails, ["Welcome, Ada!", "How was your first day, Ada?"]);
	assert.equal(await run.result(), "Ada was asked");
});

test("what a worker had done when its machine stood still is not done again", async () => {
	let isStuck = true;
	await startGreeter(ff, async (text) => {
		// The second mail never gets through on the first machine.
		if (text.startsWith("How") && isStuck) return new Promise<void>(() => {});
		mails.push(text);
	});
	const run = await ff.submit("greet", { name: "Bob" });
	await ff.advance(DAY);
	isStuck = false;
	await ff.expireLeases();

	assert.equal(await run.result(), "Bob was asked");
	assert.deepEqual(mails, ["Welcome, Bob!", "How was your first day, Bob?"]);
	assert.deepEqual(
		(await ff.attempts(run.id)).map(({ type }) => type),
		["initial", "reclaim"],
	);
});

test("a submit whose reply was lost is sent again, and greets once", async () => {
	await startGreeter(ff, sendAtOnce);
	const submit = () => ff.submit("greet", { name: "Cid" }, { idempotencyKey: "cid" });
	ff.loseReply("executions.create");
	await assert.rejects(submit(), { code: "unreachable", retryable: true });

	const run = await submit();
	assert.equal(run.created, false);
	assert.equal(await ff.fastForward(run.result()), "Cid was asked");
	assert.equal((await ff.list()).executions.length, 1);
	assert.equal(mails.length, 2);
});

test("a submit that arrives twice is one submit under a key, and two without", async () => {
	ff.deliverTwice("executions.create");
	await ff.submit("greet", { name: "Dan" }, { idempotencyKey: "dan" });
	assert.equal((await ff.list()).executions.length, 1);

	ff.deliverTwice("executions.create");
	await ff.submit("greet", { name: "Eve" });
	assert.equal((await ff.list()).executions.length, 3);
});
