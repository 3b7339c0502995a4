import { createHash, createHmac, randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { EngineOptions } from "../../src/engine/engine.ts";
import type { TokenSubject } from "../../src/engine/tokens/waitpoint-tokens.ts";
import type { EngineGroup, Member } from "./engine-group.ts";
import { secretOf, signed, startGroup, subject, worthOf } from "./token-stage.ts";

let group: EngineGroup;

afterEach(() => group.close());

async function start(options: Partial<EngineOptions> = {}): Promise<Member> {
	const started = await startGroup(options);
	group = started.group;
	return started.one;
}

describe("a token", () => {
	it("is a kid and a MAC that anybody with the secret can work out, and a fingerprint that tells nothing", async () => {
		const one = await start({ waitpointSecretHex: secretOf("A") });
		const { token, kid, fingerprint } = await one.engine.tokens.sign(subject);
		const { executionId, waitpointId, waitpointKey, createdAt, expiresAt } = subject;
		const text = JSON.stringify([executionId, waitpointId, waitpointKey, createdAt, expiresAt]);
		const mac = createHmac("sha256", Buffer.from(secretOf("a"), "hex"))
			.update(text)
			.digest("base64url");
		expect([token, kid]).toEqual([`k1.${mac}`, "k1"]);
		expect(fingerprint).toBe(createHash("sha256").update(token).digest("hex").slice(0, 16));
		expect(await signed(one)).toBe(token);
	});

	it("is for one subject: every field counts, and none runs over into the next", async () => {
		const one = await start();
		const token = await signed(one);
		expect(await worthOf(one, token)).toBe("valid");
		const others: Partial<TokenSubject>[] = [
			{ executionId: `ex_${"1".repeat(32)}_8` },
			{ waitpointId: `wp_${"3".repeat(32)}_7` },
			{ waitpointKey: "approvals" },
			{ createdAt: subject.createdAt + 1 },
			{ expiresAt: 1 },
		];
		for (const other of others) expect(await worthOf(one, token, { ...subject, ...other })).toBe("invalid");
		const split = await signed(one, { ...subject, waitpointId: "a", waitpointKey: 'b","c' });
		expect(await worthOf(one, split, { ...subject, waitpointId: 'a","b', waitpointKey: "c" })).toBe("invalid");
	});

	it("opens nothing that is not there, however good it is", async () => {
		const one = await start();
		expect(await one.engine.tokens.verify(undefined, await signed(one))).toBe("invalid");
	});

	it("stands in a callback URL as it can be taken out again", async () => {
		const one = await start({ publicUrl: "https://flows.example.org" });
		await one.engine.keyring.rotate({ kid: "a&b=%+" });
		const token = await signed(one);
		const url = new URL(one.engine.tokens.callbackUrl("wp_1", token));
		expect([url.origin, url.pathname]).toEqual(["https://flows.example.org", "/v1/callbacks/wp_1"]);
		expect(url.searchParams.get("token")).toBe(token);
		expect([...url.searchParams.keys()]).toEqual(["token"]);
	});
});

it("100,000 forged, truncated, swapped, re-signed and outdated tokens are refused, and cost the store nothing", async () => {
	const one = await start({ waitpointGraceMs: 0 });
	const old = await signed(one);
	await one.engine.keyring.rotate({});
	const token = await signed(one);
	const [kid = "", mac = ""] = token.split(".");
	const elsewhere = await signed(one, { ...subject, waitpointKey: "other" });
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const text = JSON.stringify(Object.values(subject));
	const resigned = (secret: Buffer | string, name = kid) =>
		`${name}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
	const altered = (n: number): string => {
		const at = n % mac.length;
		const letter = letters[(letters.indexOf(mac[at] as string) + 1 + (n % 63)) % 64] as string;
		return `${kid}.${mac.slice(0, at)}${letter}${mac.slice(at + 1)}`;
	};
	const forgeries: ((n: number) => string)[] = [
		altered,
		(n) => token.slice(0, n % token.length),
		(n) => token.slice(1 + (n % token.length)),
		(n) => token + letters[n % 64],
		(n) => `${kid}.${randomBytes(32).toString("base64url")}${n % 2 ? "" : "="}`,
		() => resigned(randomBytes(32)),
		(n) => resigned(Buffer.alloc(n % 65)),
		(n) => resigned("secret", `k${n}`),
		(n) => `k${n + 3}.${mac}`,
		(n) => ["constructor", "__proto__", "toString", "", " ", "k2 ", "K2"][n % 7] + token.slice(kid.length),
		() => old.replace("k1.", "k2."),
		() => token.replace("k2.", "k1."),
		() => elsewhere,
		(n) => token.replace(".", [" .", ". ", "..", ":", ""][n % 5] as string),
		(n) => `${kid}.${Buffer.from(mac, "base64url").toString(n % 2 ? "hex" : "base64")}`,
		(n) => "\u{1f511}".repeat(1 + (n % 50)) + token,
	];
	const reads = () => one.calls["read"] ?? 0;
	const before = reads();
	let worths: Record<string, number> = {};
	for (let n = 0; n < 100_000; n++) {
		const forged = (forgeries[n % forgeries.length] as (n: number) => string)(Math.floor(n / forgeries.length));
		if (forged === token || forged === old) throw new Error("that is no forgery");
		const worth = await worthOf(one, forged);
		worths = { ...worths, [worth]: (worths[worth] ?? 0) + 1 };
	}
	expect(worths).toEqual({ invalid: 100_000 });
	// No time has passed on this clock: a kid nobody knows was looked for once.
	expect(reads() - before).toBeLessThanOrEqual(1);
	// What was genuine once is told apart.
	expect([await worthOf(one, old), await worthOf(one, token)]).toEqual(["expired", "valid"]);
});

it("a bad token is worked on for as long whether its target and its key are there or not", async () => {
	const one = await start();
	const token = await signed(one);
	const bad = `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`;
	const unknownKid = `k9${bad.slice(2)}`;
	const cases: [about: TokenSubject | undefined, token: string][] = [
		[subject, bad],
		[undefined, bad],
		[undefined, token],
		[subject, unknownKid],
		[undefined, unknownKid],
	];
	const spent = cases.map((): number[] => []);
	// In turns, so that whatever else this machine does slows all of them alike.
	for (let n = 0; n < 4000; n++) {
		for (const [which, [about, given]] of cases.entries()) {
			const startedAt = performance.now();
			expect(await one.engine.tokens.verify(about, given)).toBe("invalid");
			spent[which]?.push(performance.now() - startedAt);
		}
	}
	const medians = spent.map((times) => times.sort((a, b) => a - b)[times.length / 2] as number);
	// One that skipped the MAC or the comparison would take a third of the time.
	expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(1.6);
});
