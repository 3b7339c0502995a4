import { describe, expect, it } from "vitest";
import { isStoreUrl } from "../../src/store/open.ts";
import { withoutPassword } from "../../src/store/shown-url.ts";
import { partitionTags, SLOTS, slotOf } from "../../src/store/valkey/slots.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";

describe("a Valkey URL", () => {
	const good: Record<string, object> = {
		"valkey://localhost": { hosts: [{ host: "localhost", port: 6379 }], database: 0, cluster: false, prefix: "ff" },
		"redis://10.0.0.1:7000/3": { hosts: [{ host: "10.0.0.1", port: 7000 }], database: 3 },
		"valkey://node-1.my_net.internal.": { hosts: [{ host: "node-1.my_net.internal.", port: 6379 }] },
		"valkey://[::1]:7000": { hosts: [{ host: "::1", port: 7000 }] },
		"valkeys://h": { tls: {} },
		"rediss://h?ca=/etc/ca.pem&cert=c.pem&key=k.pem": { tls: { ca: "/etc/ca.pem", cert: "c.pem", key: "k.pem" } },
		"valkey://me:p%40ss%2Fword@h": { username: "me", password: "p@ss/word" },
		"valkey://:secret@h": { password: "secret" },
		"valkey://a:1,b:2,c?cluster=true": {
			hosts: [
				{ host: "a", port: 1 },
				{ host: "b", port: 2 },
				{ host: "c", port: 6379 },
			],
			cluster: true,
		},
		"valkey://h?prefix=team.a": { prefix: "team.a" },
	};
	for (const [url, parts] of Object.entries(good)) {
		it(`${url} is understood`, () => {
			expect(parseValkeyUrl(url)).toMatchObject(parts);
			expect(isStoreUrl(url)).toBe(true);
		});
	}

	const bad: Record<string, RegExp> = {
		"valkey:": /must be valkey:/,
		"valkey://": /host: must be/,
		"valkey://h:0": /port: must be 1 to 65535/,
		"valkey://h:66000": /port/,
		"valkey://h/one": /database: must be a number/,
		"valkey://h/1?cluster=true": /database: a cluster has only 0/,
		"valkey://a,b": /several hosts .*cluster=true/,
		"valkey://h?cluster=yes": /cluster: must be true or false/,
		"valkey://h?clutser=true": /parameter 1: unknown; allowed are cluster/,
		"valkey://h?cluster=true&x=1": /parameter 2: unknown; allowed are cluster/,
		"valkey://h;x": /host: must be/,
		"valkey://h&x=1": /host: must be/,
		"valkey://h!": /host: must be/,
		"valkey://h?prefix=a b": /prefix: must be/,
		"valkey://h?prefix={x}": /prefix: must be/,
		"valkey://h?ca=x": /ca: is for TLS; write valkeys/,
		"valkey://u:%@h": /%25/,
	};
	for (const [url, problem] of Object.entries(bad)) {
		it(`${url} is refused, naming what is wrong`, () => {
			expect(() => parseValkeyUrl(url)).toThrow(problem);
			expect(isStoreUrl(url)).toBe(false);
		});
	}

	it("that is refused shows nothing but its scheme", () => {
		for (const rest of [
			"user:99999",
			"h/s3cret",
			"h/77777?cluster=true",
			"s3cret,h",
			"h?czNjcmV0==",
			"h?cluster=s3cret",
		])
			expect(shownOf(`redis://${rest}`)).toMatch(
				/^StoreOpenError: store URL redis:\/\/…: (?!.*(?:99999|7777|s3cret|czNj))/,
			);
	});

	it("never shows its password, whatever is wrong with it", () => {
		const urls = ["h/one", "h:0", "", "h?x=1", "h h", "h/x@y"].flatMap((rest) =>
			["hunter2", "hunter2/x", "hunter2?x", "a@hunter2", "hunter2#"].map((word) => `valkey://me:${word}@${rest}`),
		);
		for (const url of urls) {
			expect(shownOf(url)).not.toMatch(/hunter2/);
			expect(withoutPassword(url)).not.toMatch(/hunter2/);
		}
		expect(parseValkeyUrl("valkey://me:hunter2@h").shown).toBe("valkey://h");
	});
});

/** What people may get to see of a URL, good or bad. */
function shownOf(url: string): string {
	try {
		return parseValkeyUrl(url).shown;
	} catch (error) {
		return String(error);
	}
}

describe("partitions of a cluster", () => {
	it("slots are the cluster's own", () => {
		expect(slotOf("123456789")).toBe(12739);
		expect(slotOf("")).toBe(0);
	});

	it("are shared evenly among primaries, however many there are", () => {
		for (const partitions of [1, 3, 8, 16, 64, 256]) {
			const slots = partitionTags(partitions).map((tag) => slotOf(String(tag)));
			for (const primaries of [1, 2, 3, 5, 8]) {
				const shares = new Array(primaries).fill(0);
				for (const slot of slots) shares[Math.floor((slot * primaries) / SLOTS)] += 1;
				expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(2);
			}
		}
	});
});
