"""What JavaScript and TypeScript define: a source of each, and kind, name, first and last line of what is in it."""

DEFINITIONS = {
    "javascript": (
        """\
        export default class Shelf extends Base {
          static put = (x) => x;
          constructor() { super(); }
          async *all() {}
          get #size() { return 1; }
        }
        export async function load(url) { function inner() {} }
        const twice = (x) => 2 * x, once = function () {};
        Shelf.prototype.take = function () {};
        module.exports = { drop: () => 1 };
        const Other = class Named { go() {} };
        const Same = class Same {}, Anonymous = class { go() {} };
        shelf.sort = async () => {};
        shelf.Kind = class { static Deep = class { 'in quotes'() {} } };
        later = function* () {};
        ({ brief() {}, "quoted": () => 1, [computed]() {}, Pair: class {} });
        """,
        [
            ("class", "Shelf", 1, 6),
            ("class_method", "Shelf.put", 2, 2),
            ("class_method", "Shelf.constructor", 3, 3),
            ("class_method", "Shelf.all", 4, 4),
            ("class_method", "Shelf.#size", 5, 5),
            ("function", "load", 7, 7),
            ("function", "load.inner", 7, 7),
            ("function", "twice", 8, 8),
            ("function", "once", 8, 8),
            ("class_method", "Shelf.take", 9, 9),
            ("function", "drop", 10, 10),
            ("class", "Other", 11, 11),
            ("class", "Named", 11, 11),
            ("class_method", "Named.go", 11, 11),
            ("class", "Same", 12, 12),
            ("class", "Anonymous", 12, 12),
            ("class_method", "Anonymous.go", 12, 12),
            ("function", "sort", 13, 13),
            ("class", "Kind", 14, 14),
            ("class", "Kind.Deep", 14, 14),
            ("class_method", "Kind.Deep.in quotes", 14, 14),
            ("function", "later", 15, 15),
            ("function", "brief", 16, 16),
            ("function", "quoted", 16, 16),
            ("function", "[computed]", 16, 16),
            ("class", "Pair", 16, 16),
        ],
    ),
    "typescript": (
        """\
        namespace Store {
          export interface Item<T> { name: string; price(): number; }
          export abstract class Shelf<T> implements Item<T> {
            abstract price(): number;
            private take = (x: T): T => x;
            @logged put(x: T): void {}
          }
        }
        export enum Kind { A, B }
        function over(x: string): void;
        function over(x: any): void {}
        export const make = <T,>(x: T): T => x;
        export type Sizes<T> = { of(x: T): number };
        const Box = class { open() {} };
        shelf.sort = async () => {};
        declare module "shop" { export function sell(): void; }
        declare abstract class Till { static Coin = class {}; }
        """,
        [
            ("class", "Store.Item", 2, 2),
            ("class_method", "Store.Item.price", 2, 2),
            ("class", "Store.Shelf", 3, 7),
            ("class_method", "Store.Shelf.price", 4, 4),
            ("class_method", "Store.Shelf.take", 5, 5),
            ("class_method", "Store.Shelf.put", 6, 6),
            ("class", "Kind", 9, 9),
            ("function", "over", 10, 10),
            ("function", "over", 11, 11),
            ("function", "make", 12, 12),
            ("class", "Sizes", 13, 13),
            ("class_method", "Sizes.of", 13, 13),
            ("class", "Box", 14, 14),
            ("class_method", "Box.open", 14, 14),
            ("function", "sort", 15, 15),
            ("function", "shop.sell", 16, 16),
            ("class", "Till", 17, 17),
            ("class", "Till.Coin", 17, 17),
        ],
    ),
    "tsx": (
        """\
        export function Page({ id }: Props) {
          return <div onClick={() => id}>x</div>;
        }
        """,
        [("function", "Page", 1, 3)],
    ),
}
