import { expect } from "vitest";
import type { InboxRequest } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";
import { namesOf, suspended, wait } from "../suspended-work.ts";

const inbox = async (scene: Scene, request: InboxRequest = {}) =>
	(await scene.backend.waitpoints.inbox(request)).waitpoints;

const forApproval = { reason: "waiting_for_approval", condition: { signal: "approve" } } as const;

/** What people answer, and where they find it. */
export function approvalCases(test: PublicCase): void {
	test("an operator approves by name, without the token", async (scene) => {
		const work = await suspended(scene, forApproval);
		const { waitpoints } = scene.backend;
		expect(await waitpoints.approve(work.id, { name: "approve", payload: { note: "fine" } })).toMatchObject({
			status: "accepted",
			effect: "resumed",
		});
		expect((await scene.take()).signals).toMatchObject([
			{ name: "approve", payload: { note: "fine" }, waitpoint: "w", source: { type: "operator", identity: "local" } },
		]);
	});

	test("an approval says who gives it", async (scene) => {
		const work = await suspended(scene, forApproval);
		const root = scene.as({ actor: "root" });
		await root.waitpoints.approve(work.id, { name: "approve", identity: "ann" });
		expect((await scene.take()).signals).toMatchObject([{ source: { type: "operator", identity: "ann" } }]);
		expect((await scene.events(work.id)).find(({ type }) => type === "resumed")).toMatchObject({ actor: "root" });
	});

	test("approvals of different people count as different sources", async (scene) => {
		const condition = { count: { n: 2, distinctBy: "source", match: "approve" } } as const;
		const work = await suspended(scene, { ...forApproval, condition });
		const { waitpoints } = scene.backend;
		const by = (identity: string) => waitpoints.approve(work.id, { name: "approve", identity });
		expect((await by("ann")).effect).toBe("appended");
		expect((await by("ann")).effect).toBe("appended_duplicate");
		expect((await by("bob")).effect).toBe("resumed");
	});

	test("an approval goes to the waitpoint it names, else to the first", async (scene) => {
		const condition = { allOf: [{ signal: "approve" }, { signal: "approve", waitpoint: "legal" }] };
		const work = await suspended(scene, { ...forApproval, condition, waitpoints: [{ key: "w" }, { key: "legal" }] });
		const { waitpoints } = scene.backend;
		expect((await waitpoints.approve(work.id, { name: "approve" })).effect).toBe("appended");
		expect((await waitpoints.approve(work.id, { name: "approve" })).effect).toBe("ignored");
		expect((await waitpoints.approve(work.id, { name: "approve", waitpoint: "legal" })).effect).toBe("resumed");
		expect((await scene.take()).signals.map(({ waitpoint }) => waitpoint)).toEqual(["w", "legal"]);
	});

	test("an early waitpoint can be approved by its key", async (scene) => {
		const held = await scene.start();
		await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w" });
		const { waitpoints } = scene.backend;
		expect((await waitpoints.approve(held.id, { name: "go", waitpoint: "w" })).effect).toBe("buffered");
		expect(await refusal(waitpoints.approve(held.id, { name: "go" }))).toMatchObject({
			code: "execution_not_suspended",
			details: { publicState: "active" },
		});
	});

	test("an approval that nobody waits for is refused", async (scene) => {
		const work = await suspended(scene, forApproval);
		const { waitpoints } = scene.backend;
		expect(await refusal(waitpoints.approve(unknownId, { name: "approve" }))).toMatchObject({
			code: "execution_not_found",
		});
		expect(await refusal(waitpoints.approve(work.id, { name: "approve", waitpoint: "nowhere" }))).toMatchObject({
			code: "waitpoint_not_found",
			status: 404,
			details: { waitpoint: "nowhere" },
		});
		expect(await refusal(waitpoints.approve(work.id, { name: "" }))).toMatchObject({ details: { field: "name" } });
		await waitpoints.approve(work.id, { name: "approve" });
		expect(await refusal(waitpoints.approve(work.id, { name: "approve" }))).toMatchObject({
			code: "execution_not_suspended",
		});
		expect(await refusal(waitpoints.approve(work.id, { name: "approve", waitpoint: "w" }))).toMatchObject({
			code: "waitpoint_closed",
		});
	});

	test("the inbox lists what waits for people, with all they need to decide", async (scene) => {
		const work = await suspended(scene, { ...forApproval, timeoutMs: 60_000 }, { kind: "refund", lane: "money" });
		await work.send("noise");
		await scene.clock.advance(500);
		expect(await inbox(scene)).toEqual([
			{
				id: work.at().id,
				key: "w",
				executionId: work.id,
				kind: "refund",
				namespace: "default",
				lane: "money",
				reason: "waiting_for_approval",
				detail: `waiting for approval until ${new Date(scene.now + 59_500).toISOString()}`,
				requiredSignalNames: ["approve"],
				since: scene.now - 500,
				timeoutAt: scene.now + 59_500,
				signals: 0,
			},
		]);
	});

	test("the inbox is oldest first, over all executions, one entry for each waitpoint", async (scene) => {
		const first = await suspended(scene, { ...forApproval, waitpoints: [{ key: "a" }, { key: "b" }] });
		await scene.clock.advance(10);
		const second = await suspended(scene, forApproval);
		await scene.clock.advance(10);
		const third = await suspended(scene, { reason: "manual_pause" });
		const seen = (await inbox(scene)).map(({ executionId, key }) => [executionId, key]);
		expect(seen).toEqual([
			[first.id, "a"],
			[first.id, "b"],
			[second.id, "w"],
			[third.id, "w"],
		]);
	});

	test("the inbox can be asked for a reason and for a key", async (scene) => {
		const review = await suspended(scene, { reason: "waiting_for_operator_review", waitpoints: [{ key: "legal" }] });
		const approval = await suspended(scene, forApproval);
		const callback = await suspended(scene, { reason: "waiting_for_callback", waitpoints: [{ key: "legal" }] });
		const ids = async (request: InboxRequest) => (await inbox(scene, request)).map(({ executionId }) => executionId);
		expect(await ids({ reason: "waiting_for_approval" })).toEqual([approval.id]);
		expect(await ids({ reason: "waiting_for_operator_review" })).toEqual([review.id]);
		expect(await ids({ key: "legal" })).toEqual([review.id, callback.id]);
		expect(await ids({ key: "legal", reason: "waiting_for_callback" })).toEqual([callback.id]);
		expect(await ids({ key: "nowhere" })).toEqual([]);
		expect(await refusal(inbox(scene, { reason: "boredom" as never }))).toMatchObject({ code: "invalid_input" });
	});

	test("the inbox is read in pages, also where a filter leaves little of each", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 7; n++) {
			const key = n % 2 === 0 ? "even" : "odd";
			ids.push((await suspended(scene, { waitpoints: [{ key }] })).id);
			await scene.clock.advance(1);
		}
		const all = async (request: InboxRequest) => {
			const seen: string[] = [];
			let cursor: string | undefined;
			do {
				const page = await scene.backend.waitpoints.inbox({ ...request, ...(cursor ? { cursor } : undefined) });
				expect(page.waitpoints.length).toBeLessThanOrEqual(request.limit ?? 100);
				seen.push(...page.waitpoints.map(({ executionId }) => executionId));
				cursor = page.nextCursor;
			} while (cursor);
			return seen;
		};
		expect(await all({ limit: 2 })).toEqual(ids);
		expect(await all({ limit: 1, key: "odd" })).toEqual([ids[1], ids[3], ids[5]]);
		expect(await refusal(inbox(scene, { cursor: "nonsense" }))).toMatchObject({ details: { field: "cursor" } });
		expect(await refusal(inbox(scene, { limit: 0 }))).toMatchObject({ details: { field: "limit" } });
	});

	test("what was answered, timed out or ended leaves the inbox; what was passed on to an operator stays", async (scene) => {
		const answered = await suspended(scene, forApproval);
		const cancelled = await suspended(scene, forApproval);
		const late = await suspended(scene, { ...forApproval, timeoutMs: 100 });
		const escalated = await suspended(scene, { ...forApproval, timeoutMs: 100, timeoutBehavior: "escalate" });
		await answered.send("approve");
		await scene.backend.executions.cancel(cancelled.id);
		await scene.clock.advance(100);
		expect((await scene.get(late.id)).publicState).toBe("failed");
		expect(await inbox(scene)).toMatchObject([
			{
				executionId: escalated.id,
				reason: "waiting_for_approval",
				detail: "waiting_for_approval timed out; an operator is to decide",
			},
		]);
	});

	test("a waitpoint that nothing waits at yet is not in the inbox", async (scene) => {
		const held = await scene.start();
		await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w" });
		expect(await inbox(scene)).toEqual([]);
		await wait(scene, held);
		expect(await inbox(scene)).toHaveLength(1);
	});

	test("the inbox counts the signals that have come and count", async (scene) => {
		const condition = { count: { n: 3, distinctBy: "source" } } as const;
		const work = await suspended(scene, { condition });
		await work.send("yes", { source: { type: "person", identity: "ann" } });
		await work.send("yes", { source: { type: "person", identity: "bob" } });
		expect(await inbox(scene)).toMatchObject([{ signals: 2 }]);
	});

	test("every namespace has its own inbox", async (scene) => {
		const mine = await suspended(scene, forApproval, { namespace: "a" });
		const [a, b] = [scene.as({ actor: "ada", namespace: "a" }), scene.as({ actor: "bob", namespace: "b" })];
		expect((await a.waitpoints.inbox()).waitpoints).toMatchObject([{ executionId: mine.id, namespace: "a" }]);
		expect((await b.waitpoints.inbox()).waitpoints).toEqual([]);
		expect(await inbox(scene)).toEqual([]);
		expect(await inbox(scene, { namespace: "a" })).toHaveLength(1);
		expect(await refusal(b.waitpoints.inbox({ namespace: "a" }))).toMatchObject({ code: "forbidden" });
	});

	test("what waits in another namespace does not exist for anybody bound to one", async (scene) => {
		const work = await suspended(scene, forApproval, { namespace: "a" });
		const { waitpoints } = scene.as({ actor: "bob", namespace: "b" });
		const calls = [
			() => waitpoints.list(work.id),
			() => waitpoints.token(work.id, work.at().id),
			() => waitpoints.signals(work.id),
			() => waitpoints.approve(work.id, { name: "approve" }),
			() => waitpoints.resume(work.id),
		];
		for (const call of calls) expect(await refusal(call())).toMatchObject({ code: "execution_not_found" });
		expect((await scene.get(work.id)).publicState).toBe("suspended");
	});

	test("a waitpoint's own token is all the authority a signal needs, whatever namespace its sender is bound to", async (scene) => {
		const work = await suspended(scene, forApproval, { namespace: "a" });
		const { waitpoints } = scene.as({ actor: "bob", namespace: "b" });
		const { id: waitpointId, token } = work.at();
		expect((await waitpoints.signal(work.id, { waitpointId, token, name: "approve" })).effect).toBe("resumed");
		const resumed = await scene.take({ namespace: "a", lanes: ["default"] });
		expect(namesOf(resumed.signals)).toEqual(["approve"]);
	});
}
