import { expect, it } from "vitest";
import { KEYRING_KEY, type KeyringRecord } from "../../src/kernel/records/keyring.ts";
import { MapPartition } from "./map-tx.ts";

const DAY = 86_400_000;
const GRACE = DAY;
const secret = (digit: string): string => digit.repeat(64);

function installed(): MapPartition {
	const store = new MapPartition();
	store.run({ op: "installKeyring", secretHex: secret("a"), isGiven: false }, 1000);
	return store;
}

const ringOf = (store: MapPartition): KeyringRecord => store.read(KEYRING_KEY) as KeyringRecord;
const kidsOf = (store: MapPartition): string[] => ringOf(store).keys.map(({ kid }) => kid);
const rotate = (
	store: MapPartition,
	now: number,
	request: { kid?: string; secretHex?: string; drawn?: string } = {},
) => {
	const { drawn = secret("d"), ...rest } = request;
	return store.run({ op: "rotateSecret", drawnSecretHex: drawn, graceMs: GRACE, ...rest }, now);
};
const tick = (store: MapPartition, now: number) =>
	store.run({ op: "tick", key: KEYRING_KEY, writableSince: 0, jitter: 0 }, now);

it("a store without a ring gets one; one that is there stays as it is", () => {
	const store = new MapPartition();
	const install = (secretHex: string, isGiven: boolean) =>
		store.run({ op: "installKeyring", secretHex, isGiven }, 1000);
	expect(install(secret("a"), true)).toEqual({ ok: true, did: "installed", kid: "k1", isOther: false });
	expect(install(secret("a"), true)).toEqual({ ok: true, did: "kept", kid: "k1", isOther: false });
	expect(install(secret("b"), true)).toEqual({ ok: true, did: "kept", kid: "k1", isOther: true });
	expect(install(secret("b"), false)).toEqual({ ok: true, did: "kept", kid: "k1", isOther: false });
	expect(ringOf(store)).toEqual({
		current: "k1",
		minted: 1,
		keys: [{ kid: "k1", secretHex: secret("a"), installedAt: 1000 }],
	});
});

it("a torn ring is repaired in place, and keeps the keys that are whole", () => {
	const old = { kid: "k1", secretHex: secret("a"), installedAt: 1, expiresAt: 5000 };
	const torn: [doc: object, current: string, kids: string[]][] = [
		[{ current: "k2", minted: 2, keys: [old] }, "k2", ["k1", "k2"]],
		[{ current: "k2", minted: 2, keys: [old, { kid: "k2", installedAt: 2 }] }, "k2", ["k1", "k2"]],
		[{ current: "july", minted: 1, keys: [old, null, { kid: "july", secretHex: "abc" }] }, "july", ["k1", "july"]],
		[{ minted: 1, keys: [old] }, "k2", ["k1", "k2"]],
		[{ current: "a.b" }, "k1", ["k1"]],
		[
			{ current: "k3", minted: 3, keys: [{ kid: "k2" }, { kid: "k3", secretHex: secret("c"), installedAt: 3 }] },
			"k3",
			["k3"],
		],
		[{ current: "k1", minted: 1, keys: [old] }, "k1", ["k1"]],
	];
	for (const [doc, current, kids] of torn) {
		const store = new MapPartition();
		store.docs.set(KEYRING_KEY, JSON.stringify(doc));
		const outcome = store.run({ op: "installKeyring", secretHex: secret("f"), isGiven: false }, 4000);
		expect(outcome, JSON.stringify(doc)).toMatchObject({ ok: true, did: "repaired", kid: current });
		expect(ringOf(store).current).toBe(current);
		expect(kidsOf(store)).toEqual(kids);
		expect(ringOf(store).keys.every(({ secretHex }) => secretHex.length === 64)).toBe(true);
		expect(ringOf(store).keys.at(-1)?.expiresAt).toBeUndefined();
	}
});

it("kids are minted one after the other, never twice, whatever somebody chose in between", () => {
	const store = installed();
	expect(rotate(store, 2000)).toEqual({ ok: true, kid: "k2", previousKid: "k1", previousExpiresAt: 2000 + GRACE });
	expect(rotate(store, 3000, { kid: "k7" })).toMatchObject({ kid: "k7", previousKid: "k2" });
	expect(rotate(store, 4000)).toMatchObject({ kid: "k8", previousKid: "k7" });
	tick(store, 10 * DAY);
	expect(kidsOf(store)).toEqual(["k8"]);
	expect(rotate(store, 11 * DAY, { kid: "july" })).toMatchObject({ kid: "july" });
	expect(rotate(store, 12 * DAY)).toMatchObject({ kid: "k9" });
	expect(rotate(store, 12 * DAY, { kid: "k999999999999999" })).toMatchObject({ ok: true });
	const more = ["1", "2", "3"].map((digit) => rotate(store, 12 * DAY, { drawn: secret(digit) }));
	expect(new Set(more.map((outcome) => outcome.ok && outcome.kid)).size).toBe(3);
	expect(new Set(kidsOf(store)).size).toBe(kidsOf(store).length);
});

it("the same rotation again changes nothing and is answered as before, also after others", () => {
	const store = installed();
	const request = { kid: "july", secretHex: secret("7") };
	const first = rotate(store, 2000, request);
	const doc = store.docs.get(KEYRING_KEY);
	expect(rotate(store, 3000, request)).toEqual(first);
	expect(rotate(store, 3000, { secretHex: secret("7") })).toEqual(first);
	expect(rotate(store, 3000, { kid: "july" })).toEqual(first);
	expect(store.docs.get(KEYRING_KEY)).toBe(doc);
	rotate(store, 4000);
	expect(rotate(store, 5000, request)).toEqual(first);
	expect(ringOf(store).current).toBe("k2");
	expect(rotate(store, 5000, { kid: "july", secretHex: secret("8") })).toEqual({
		ok: false,
		code: "rotation_conflict",
		details: { kid: "july" },
	});
});

it("each kid has its own grace, and goes seven days after it", () => {
	const store = installed();
	rotate(store, 2000);
	rotate(store, 3000);
	expect(ringOf(store).keys.map(({ expiresAt }) => expiresAt)).toEqual([2000 + GRACE, 3000 + GRACE, undefined]);
	const firstGoes = 2000 + GRACE + 7 * DAY;
	expect(store.queue("due")).toEqual([{ key: KEYRING_KEY, score: firstGoes }]);
	expect(tick(store, firstGoes - 1)).toEqual({ ok: true, early: firstGoes });
	expect(tick(store, firstGoes)).toEqual({ ok: true, duty: "secret_removal" });
	expect(kidsOf(store)).toEqual(["k2", "k3"]);
	tick(store, firstGoes + 1000);
	expect(kidsOf(store)).toEqual(["k3"]);
	expect(store.queue("due")).toEqual([]);
	expect(tick(store, 1000 * DAY)).toEqual({ ok: true });
});

it("a ring is full before it outgrows its record", () => {
	const store = new MapPartition();
	const long = (n: number): string => n.toString(16).padStart(4, "0").repeat(64);
	store.run({ op: "installKeyring", secretHex: long(0), isGiven: true }, 1_700_000_000_000);
	for (let n = 1; n < 128; n++) {
		const kid = `${"y".repeat(28)}${n.toString().padStart(4, "0")}`;
		expect(rotate(store, 1_700_000_000_000, { kid, secretHex: long(n) })).toMatchObject({ kid });
	}
	expect(rotate(store, 1_700_000_000_000)).toMatchObject({ ok: false, code: "too_many_keys", details: { max: 128 } });
	expect(store.docs.get(KEYRING_KEY)?.length).toBeLessThan(60_000);
});

it("kids may be called like anything every object has", () => {
	const store = installed();
	for (const kid of ["__proto__", "constructor", "toString"]) {
		expect(rotate(store, 2000, { kid })).toMatchObject({ ok: true, kid });
		expect(ringOf(store).current).toBe(kid);
	}
	expect(kidsOf(store)).toEqual(["k1", "__proto__", "constructor", "toString"]);
});
