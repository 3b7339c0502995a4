import { expect, it } from "vitest";
import { guardText } from "../../src/kernel/admission/guards.ts";
import { countedAt, straddling } from "../../src/kernel/admission/window-count.ts";
import type { CommandOf } from "../../src/kernel/kernel.ts";
import { guardsQueue } from "../../src/kernel/placement.ts";
import { encode } from "../../src/kernel/record-types.ts";
import { quotaKey, windowChunkKey } from "../../src/kernel/records/quota.ts";
import { amend } from "../../src/kernel/records/record.ts";
import { claimOne } from "./claim-command.ts";
import { MapPartition } from "./map-tx.ts";

const NOW = 1_700_000_000_000;
const NAME = { namespace: "default", id: "openai" };
const KEY = quotaKey("default", "openai");
const GUARD = { kind: "quota", ...NAME } as const;

function stage(fields: Partial<CommandOf<"createQuota">> = {}) {
	const partition = new MapPartition();
	const create = (more: Partial<CommandOf<"createQuota">> = {}, at = NOW) =>
		partition.run(
			{
				op: "createQuota",
				...NAME,
				rate: { max: 1000, windowMs: 1000 },
				concurrency: 500,
				holdWhileSuspended: false,
				jitterMs: 0,
				...fields,
				...more,
			},
			at,
		);
	const patch = (more: Partial<CommandOf<"patchQuota">>, at = NOW) =>
		partition.run({ op: "patchQuota", ...NAME, ...more }, at);
	const admit = (holdId: string, at: number) => {
		const request = { executionId: "ex_1", holdId, until: at + 1 };
		return partition.run({ op: "reserve", guard: GUARD, requests: [request], jitter: 0 }, at);
	};
	const withWaiters = () => {
		const quota = partition.read(KEY);
		if (quota) partition.docs.set(KEY, encode(KEY, amend(quota, { waitersAt: NOW, releaseAt: 0 })));
	};
	create();
	return { partition, create, patch, admit, withWaiters, quota: () => partition.read(KEY) };
}

it("the same definition again changes nothing, another is refused", () => {
	const { create } = stage();
	expect(create()).toMatchObject({ ok: true, created: false });
	for (const other of [{ rate: null }, { rate: { max: 1000, windowMs: 999 } }, { concurrency: 0 }, { jitterMs: 1 }]) {
		expect(create(other)).toMatchObject({ ok: false, code: "already_exists" });
	}
});

it("a patch changes what is given, at once, and has what waits looked at", () => {
	const { patch, admit, withWaiters, quota } = stage();
	admit("le_1", NOW);
	withWaiters();
	expect(patch({ concurrency: 7, jitterMs: 3 }, NOW + 1)).toMatchObject({ ok: true });
	expect(quota()).toMatchObject({ rate: { max: 1000 }, concurrency: 7, jitterMs: 3, held: 1, releaseAt: NOW + 1 });
	patch({ rate: null });
	expect(quota()).toMatchObject({ rate: null, window: [], held: 1 });
	expect(patch({ concurrency: null })).toMatchObject({ ok: false, code: "quota_without_limit" });
	expect(patch({ rate: { max: 2, windowMs: 5 }, concurrency: null })).toMatchObject({ ok: true });
	expect(quota()).toMatchObject({ rate: { max: 2, windowMs: 5 }, concurrency: 0 });
});

it("one that is made where one was deleted counts the slots and admissions that are still out", () => {
	const { partition, create, admit, quota } = stage();
	admit("le_1", NOW);
	admit("le_2", NOW + 10);
	partition.run({ op: "deleteQuota", ...NAME }, NOW + 10);
	expect(partition.queue(guardsQueue("quota", "default"))).toEqual([]);
	expect(partition.run({ op: "deleteQuota", ...NAME }, NOW + 10)).toMatchObject({ code: "quota_not_found" });
	expect(partition.run({ op: "patchQuota", ...NAME, concurrency: 1 }, NOW)).toMatchObject({ code: "quota_not_found" });
	expect(create({ concurrency: 9 }, NOW + 20)).toMatchObject({ ok: true, created: true });
	expect(quota()).toMatchObject({
		held: 2,
		window: [
			[NOW, 1],
			[NOW + 10, 1],
		],
		concurrency: 9,
		createdAt: NOW + 20,
	});
});

it("one that is deleted goes with its holds and its window", () => {
	const { partition, admit } = stage();
	for (let n = 0; n < 150; n++) admit(`le_${n}`, NOW + n);
	partition.run({ op: "deleteQuota", ...NAME }, NOW + 200);
	for (let n = 0; n < 10 && partition.docs.size > 0; n++) {
		partition.run({ op: "tick", key: KEY, writableSince: 0, jitter: 0 }, NOW + 200 + n);
	}
	expect([...partition.docs.keys()]).toEqual([]);
});

it("a reader counts what is younger than the window, though nobody has trimmed it", () => {
	const { partition, admit, quota } = stage();
	for (let n = 0; n < 200; n++) admit(`le_${n}`, NOW + n);
	const counted = (at: number) => {
		const now = quota();
		if (!now) throw new Error("no quota");
		const chunk = straddling(now, at);
		const record = chunk && partition.read(windowChunkKey("default", "openai", chunk.number));
		return countedAt(now, record?.entries ?? [], at);
	};
	expect(counted(NOW + 199)).toBe(200);
	// Exactly as old as the window no longer counts.
	for (const over of [1, 2, 64, 65, 130, 199]) expect(counted(NOW + 999 + over)).toBe(200 - over);
	expect(counted(NOW + 1199)).toBe(0);
});

it("an admission that is given back after it has left the window takes out nobody else's", () => {
	const { partition, admit, quota } = stage();
	const giveBack = (holdId: string, at: number) => {
		const messages = [{ executionId: "ex_1", holdId, message: "unused" as const }];
		partition.run({ op: "takeBack", guard: GUARD, messages }, at);
	};
	for (const [holdId, at] of Object.entries({ le_1: 0, le_2: 2000, le_3: 2001 })) admit(holdId, NOW + at);
	giveBack("le_1", NOW + 2002);
	expect(quota()?.window).toEqual([
		[NOW + 2000, 1],
		[NOW + 2001, 1],
	]);
	giveBack("le_2", NOW + 2003);
	expect(quota()?.window).toEqual([[NOW + 2001, 1]]);
});

it("a refusal speaks for others that the same call finds, but not after the engine stood still", () => {
	const { partition } = stage();
	const executionId = `ex_${"1".padStart(32, "0")}_1`;
	const work = { kind: "job", namespace: "default", lane: "default", requiredCapabilities: [] };
	const create = { executionId, ...work, priority: 0, policy: {}, input: null, createdBy: "me", retentionMs: 1000 };
	partition.run({ op: "create", ...create, quotas: ["openai"], actor: "me" }, NOW);
	const refusal = { detail: "concurrency 1/1", limit: "concurrency", isForAll: true, at: NOW };
	const claim = (at: number) =>
		partition.run(
			claimOne({ ...work, isGuarded: true }, 1, {
				admission: {
					jitter: 0,
					refused: new Map([[guardText(GUARD), refusal]]),
					unreadable: new Set(),
					isAlone: false,
					most: 10,
				},
			}),
			at,
		);
	// By then the quota may have given up waiting for it to come: whoever is set aside now would wait for ever.
	expect(claim(NOW + 10_500)).toMatchObject({ ok: true, held: [{ record: { id: executionId } }] });
	partition.run({ op: "tick", key: executionId, writableSince: 0, jitter: 0 }, NOW + 20_000);
	expect(claim(NOW + 1000)).toMatchObject({ ok: true, blocked: [{ record: { id: executionId }, by: GUARD }] });
});
