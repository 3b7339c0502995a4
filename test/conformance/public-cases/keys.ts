import { expect } from "vitest";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const DAY = 86_400_000;
const MINUTE = 60_000;
const secretOf = (digit: string): string => digit.repeat(64);

/** A waitpoint that outlives the lease of whoever asked for it. */
async function waitpoint(scene: Scene, key = "door") {
	const { id, fence } = await scene.start();
	return { executionId: id, fence, ...(await scene.backend.leases.createWaitpoint(id, { fence, key })) };
}

type Waitpoint = Awaited<ReturnType<typeof waitpoint>>;

const signal = (scene: Scene, { executionId, id }: Waitpoint, token: string) =>
	scene.backend.waitpoints.signal(executionId, { waitpointId: id, token, name: "knock" });

const tokenNow = async (scene: Scene, { executionId, id }: Waitpoint) =>
	(await scene.backend.waitpoints.token(executionId, id)).token;

/** What a token is worth: the effect of a signal with it, or the code it is refused with. */
const worthOf = async (scene: Scene, at: Waitpoint, token: string): Promise<string> =>
	signal(scene, at, token).then(
		() => "valid",
		(error: { code: string }) => error.code,
	);

const backupOf = async (scene: Scene, request?: { keys?: boolean }): Promise<string> => {
	let all = "";
	for await (const line of scene.backend.admin.backup(request)) all += `${line}\n`;
	return all;
};

export function keyCases(test: PublicCase): void {
	test("the first key is called k1, and a token is its name and 32 bytes", async (scene) => {
		const { token, callbackUrl } = await waitpoint(scene);
		expect(token).toMatch(/^k1\.[A-Za-z0-9_-]{43}$/);
		expect(callbackUrl).toMatch(/^\/v1\/callbacks\/wp_[0-9a-f]{32}_\d+\?token=k1\.[A-Za-z0-9_-]{43}$/);
	});

	test("a token opens its own waitpoint, and no part of one opens any", async (scene) => {
		const { executionId, fence, token } = await waitpoint(scene);
		const other = await scene.backend.leases.createWaitpoint(executionId, { fence, key: "other" });
		expect(other.token).not.toBe(token);
		const [kid, mac = ""] = token.split(".");
		const forged = `${kid}.${mac.slice(0, -1)}${mac.endsWith("A") ? "E" : "A"}`;
		const at = { executionId, fence, ...other };
		for (const bad of [token, forged, `${kid}.`, mac, "", "k9.x", `k2.${mac}`])
			expect(await worthOf(scene, at, bad), bad).toBe("invalid_token");
	});

	test(
		"callback URLs begin with the public URL",
		async (scene) => {
			const { id, token, callbackUrl } = await waitpoint(scene);
			expect(callbackUrl).toBe(`https://flows.example.org/base/v1/callbacks/${id}?token=${token}`);
		},
		{ publicUrl: "https://flows.example.org/base/" },
	);

	test("a rotation mints the next key, and tells which it replaced and until when that one counts", async (scene) => {
		const first = await scene.ff.rotateWaitpointSecret();
		expect(first).toEqual({ kid: "k2", previousKid: "k1", previousExpiresAt: scene.now + DAY });
		await scene.clock.advance(1000);
		const second = await scene.backend.admin.rotateWaitpointSecret({});
		expect(second).toEqual({ kid: "k3", previousKid: "k2", previousExpiresAt: scene.now + DAY });
	});

	test("from a rotation on the new key signs, and what the former signed is still taken", async (scene) => {
		const at = await waitpoint(scene);
		expect(await tokenNow(scene, at)).toBe(at.token);
		await scene.ff.rotateWaitpointSecret();
		const fresh = await tokenNow(scene, at);
		expect(fresh).toMatch(/^k2\./);
		expect(await worthOf(scene, at, at.token)).toBe("valid");
		expect(await worthOf(scene, at, fresh)).toBe("valid");
		const again = await scene.backend.leases.createWaitpoint(at.executionId, { fence: at.fence, key: "door" });
		expect([again.id, again.token, again.created]).toEqual([at.id, fresh, false]);
		const { waitpoints } = await scene.backend.waitpoints.list(at.executionId);
		expect(waitpoints.map(({ kid }) => kid)).toEqual(["k2"]);
	});

	test("the same MAC under another kid is forged", async (scene) => {
		const at = await waitpoint(scene);
		await scene.ff.rotateWaitpointSecret();
		const fresh = await tokenNow(scene, at);
		expect(await worthOf(scene, at, at.token.replace("k1.", "k2."))).toBe("invalid_token");
		expect(await worthOf(scene, at, fresh.replace("k2.", "k1."))).toBe("invalid_token");
	});

	test(
		"after its grace a key is kept for seven days, and what it signed has expired; then it is unknown",
		async (scene) => {
			const at = await waitpoint(scene);
			const { previousExpiresAt } = await scene.ff.rotateWaitpointSecret();
			expect(previousExpiresAt).toBe(scene.now + MINUTE);
			await scene.clock.advance(MINUTE - 1);
			expect(await worthOf(scene, at, at.token)).toBe("valid");
			await scene.clock.advance(1);
			expect(await worthOf(scene, at, at.token)).toBe("token_expired");
			expect(await worthOf(scene, at, `${at.token}x`)).toBe("invalid_token");
			await scene.clock.advance(7 * DAY - 1000);
			expect(await worthOf(scene, at, at.token)).toBe("token_expired");
			await scene.clock.advance(12_000);
			expect(await worthOf(scene, at, at.token)).toBe("invalid_token");
			expect(await worthOf(scene, at, await tokenNow(scene, at))).toBe("valid");
			const removals = (await scene.ff.scanners()).scanners.find(({ name }) => name === "secret_removal");
			expect(removals).toMatchObject({ items: 1, errors: 0 });
		},
		{ waitpointGraceMs: MINUTE },
	);

	test(
		"each key counts for its own grace, however many rotations follow",
		async (scene) => {
			const at = await waitpoint(scene);
			const tokens = [at.token];
			for (let n = 0; n < 4; n++) {
				await scene.ff.rotateWaitpointSecret();
				tokens.push(await tokenNow(scene, at));
				await scene.clock.advance(10_000);
			}
			const worths = async () => Promise.all(tokens.map((token) => worthOf(scene, at, token)));
			expect(await worths()).toEqual(["valid", "valid", "valid", "valid", "valid"]);
			// The first was replaced 40 s ago, the others 30, 20 and 10.
			await scene.clock.advance(20_000);
			expect(await worths()).toEqual(["token_expired", "valid", "valid", "valid", "valid"]);
			await scene.clock.advance(20_000);
			expect(await worths()).toEqual(["token_expired", "token_expired", "token_expired", "valid", "valid"]);
		},
		{ waitpointGraceMs: MINUTE },
	);

	test("a key may be named and its secret given; the same again changes nothing", async (scene) => {
		const at = await waitpoint(scene);
		const request = { kid: "2026-08", secretHex: secretOf("a") };
		const rotated = await scene.ff.rotateWaitpointSecret(request);
		expect(rotated).toMatchObject({ kid: "2026-08", previousKid: "k1" });
		const token = await tokenNow(scene, at);
		await scene.clock.advance(5000);
		expect(await scene.ff.rotateWaitpointSecret(request)).toEqual(rotated);
		expect(await scene.ff.rotateWaitpointSecret({ ...request, secretHex: secretOf("A") })).toEqual(rotated);
		expect(await scene.ff.rotateWaitpointSecret({ secretHex: secretOf("a") })).toEqual(rotated);
		expect(await tokenNow(scene, at)).toBe(token);
		expect(token).toMatch(/^2026-08\./);
		// Also when it was made long ago: it does not come back.
		await scene.ff.rotateWaitpointSecret();
		expect(await scene.ff.rotateWaitpointSecret(request)).toEqual(rotated);
		expect(await tokenNow(scene, at)).toMatch(/^k2\./);
	});

	test("the same kid with another secret is a conflict, and changes nothing", async (scene) => {
		const at = await waitpoint(scene);
		await scene.ff.rotateWaitpointSecret({ kid: "july", secretHex: secretOf("a") });
		const token = await tokenNow(scene, at);
		for (const kid of ["july", "k1"]) {
			const error = await refusal(scene.ff.rotateWaitpointSecret({ kid, secretHex: secretOf("b") }));
			expect([error.code, error.status, error.details]).toEqual(["rotation_conflict", 409, { kid }]);
			expect(JSON.stringify([error.message, error.details])).not.toContain("bbbb");
		}
		expect(await tokenNow(scene, at)).toBe(token);
	});

	test("a kid that cannot stand in a token, or a short secret, is refused by its name and not shown", async (scene) => {
		const bad: [request: object, field: string][] = [
			[{ kid: "" }, "kid"],
			[{ kid: "x".repeat(33) }, "kid"],
			[{ kid: "a.b" }, "kid"],
			[{ kid: "a:b" }, "kid"],
			[{ kid: "a b" }, "kid"],
			[{ kid: 5 }, "kid"],
			[{ secretHex: "abcdef" }, "secretHex"],
			[{ secretHex: `${secretOf("a").slice(2)}` }, "secretHex"],
			[{ secretHex: `${secretOf("a")}0` }, "secretHex"],
			[{ secretHex: `${secretOf("a").slice(1)}g` }, "secretHex"],
			[{ secretHex: 123456 }, "secretHex"],
			[{ secret: secretOf("a") }, "secret"],
		];
		for (const [request, field] of bad) {
			const error = await refusal(scene.ff.rotateWaitpointSecret(request as { kid: string }));
			expect([error.code, error.details["field"]], JSON.stringify(request)).toEqual(["invalid_input", field]);
			expect(error.message).not.toMatch(/abcdef|123456|aaaa/);
		}
		const longest = { kid: "x".repeat(32), secretHex: "ab".repeat(128) };
		expect(await scene.ff.rotateWaitpointSecret(longest)).toMatchObject({ kid: longest.kid, previousKid: "k1" });
	});

	test("kids may be called like what every object has", async (scene) => {
		const at = await waitpoint(scene);
		for (const kid of ["__proto__", "constructor"]) {
			expect(await worthOf(scene, at, at.token.replace("k1", kid))).toBe("invalid_token");
			expect(await scene.ff.rotateWaitpointSecret({ kid })).toMatchObject({ kid });
			expect(await worthOf(scene, at, await tokenNow(scene, at))).toBe("valid");
			await scene.clock.advance(1000);
		}
	});

	test("one rotation at a time: others are told so, and have changed nothing", async (scene) => {
		const answers = await Promise.allSettled(Array.from({ length: 8 }, () => scene.ff.rotateWaitpointSecret()));
		const kids = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.kid] : []));
		expect(kids.length).toBeGreaterThan(0);
		expect(kids.sort()).toEqual(kids.map((_, n) => `k${n + 2}`));
		for (const answer of answers) {
			if (answer.status === "fulfilled") continue;
			expect(answer.reason).toMatchObject({ code: "too_many_requests", details: { pool: "admin_rotate", max: 1 } });
		}
		expect((await scene.ff.rotateWaitpointSecret()).kid).toBe(`k${kids.length + 2}`);
	});

	test("who is bound to a namespace rotates nothing", async (scene) => {
		const error = await refusal(scene.as({ actor: "ada", namespace: "a" }).admin.rotateWaitpointSecret());
		expect(error.code).toBe("forbidden");
		const rotated = await scene.as({ actor: "root" }).admin.rotateWaitpointSecret();
		expect(rotated).toMatchObject({ kid: "k2" });
	});

	test(
		"a secret that is given signs on a store that has none",
		async (scene) => {
			const at = await waitpoint(scene);
			// It was there from the start, under the first name.
			expect(await scene.ff.rotateWaitpointSecret({ kid: "k1", secretHex: secretOf("c") })).toEqual({ kid: "k1" });
			expect(await tokenNow(scene, at)).toBe(at.token);
		},
		{ waitpointSecretHex: secretOf("C") },
	);

	test("signals that come while keys rotate are all taken", async (scene) => {
		const at = await waitpoint(scene);
		const worths: Promise<string>[] = [];
		for (let n = 0; n < 10; n++) {
			worths.push(worthOf(scene, at, at.token), worthOf(scene, at, await tokenNow(scene, at)));
			await scene.ff.rotateWaitpointSecret();
			worths.push(worthOf(scene, at, await tokenNow(scene, at)));
		}
		expect(new Set(await Promise.all(worths))).toEqual(new Set(["valid"]));
	});

	test(
		"a backup holds the keys only if asked for, and nothing else holds them",
		async (scene) => {
			const at = await waitpoint(scene);
			await scene.ff.rotateWaitpointSecret({ secretHex: secretOf("d") });
			await signal(scene, at, await tokenNow(scene, at));
			const secrets = [secretOf("c"), secretOf("d")];
			const without = await backupOf(scene);
			const withKeys = await backupOf(scene, { keys: true });
			expect(without).not.toContain("keyring");
			// A position in this store is none in another, so the key of its cursors stays here.
			for (const backup of [without, withKeys]) expect(backup).not.toContain('"cursors"');
			for (const secret of secrets) {
				expect(without).not.toContain(secret);
				expect(withKeys).toContain(secret);
			}
			const told = JSON.stringify([
				await scene.events(at.executionId),
				await scene.ff.feed(),
				await scene.ff.scanners(),
				await scene.ff.explain(at.executionId),
				await scene.backend.waitpoints.list(at.executionId, { all: true }),
				await scene.backend.waitpoints.inbox(),
			]);
			for (const secret of secrets) expect(told).not.toContain(secret);
			for (const token of [at.token, await tokenNow(scene, at)]) expect(told + withKeys).not.toContain(token.slice(3));
			const error = await refusal(backupOf(scene, { keys: "yes" } as never));
			expect([error.code, error.details["field"]]).toEqual(["invalid_input", "keys"]);
		},
		{ waitpointSecretHex: secretOf("c") },
	);
}
