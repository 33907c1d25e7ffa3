"""The other languages: functions, classes and methods with the names around them."""

from textwrap import dedent

import pytest

from model.codegraph import languages
from tests.model.codegraph.builders import definitions

CASES = {
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
        const Anonymous = class Named { go() {} };
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
            ("function", "take", 9, 9),
            ("function", "drop", 10, 10),
            ("class", "Named", 11, 11),
            ("class_method", "Named.go", 11, 11),
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
    "java": (
        """\
        package shop;
        @Entity
        public class Shelf<T> extends Base {
            Shelf() { super(); }
            @Override
            public <U> List<U> all(int n) throws IOException { return null; }
            enum Kind { A; int code() { return 1; } }
            interface Put { void put(int x); }
            record Pair(int a, int b) { Pair { } }
        }
        @interface Marked {}
        """,
        [
            ("class", "Shelf", 2, 10),
            ("class_method", "Shelf.Shelf", 4, 4),
            ("class_method", "Shelf.all", 5, 6),
            ("class", "Shelf.Kind", 7, 7),
            ("class_method", "Shelf.Kind.code", 7, 7),
            ("class", "Shelf.Put", 8, 8),
            ("class_method", "Shelf.Put.put", 8, 8),
            ("class", "Shelf.Pair", 9, 9),
            ("class_method", "Shelf.Pair.Pair", 9, 9),
            ("class", "Marked", 11, 11),
        ],
    ),
    "go": (
        """\
        package shop

        type Shelf struct {
            items []int
        }
        type Putter interface{ Put(x int) }
        func (s *Shelf) Put(x int) { s.items = append(s.items, x) }
        func (s Shelf) Len() int { return 0 }
        func (m Map[K, V]) Get(k K) V { return m.v }
        func New() *Shelf { return nil }
        """,
        [
            ("class", "Shelf", 3, 5),
            ("class", "Putter", 6, 6),
            ("class_method", "Shelf.Put", 7, 7),
            ("class_method", "Shelf.Len", 8, 8),
            ("class_method", "Map.Get", 9, 9),
            ("function", "New", 10, 10),
        ],
    ),
    "rust": (
        """\
        mod shop {
            pub struct Shelf<T> { items: Vec<T> }
            impl<T> Shelf<T> {
                pub fn new() -> Self { Shelf { items: vec![] } }
            }
            impl Display for Shelf<u8> {
                fn fmt(&self) -> Result { fn inner() {} Ok(()) }
            }
            pub trait Put { fn put(&mut self); }
        }
        enum Kind { A, B }
        pub async fn load() {}
        macro_rules! shout { () => {}; }
        """,
        [
            ("class", "shop.Shelf", 2, 2),
            ("class_method", "shop.Shelf.new", 4, 4),
            ("class_method", "shop.Shelf.fmt", 7, 7),
            ("function", "shop.Shelf.fmt.inner", 7, 7),
            ("class", "shop.Put", 9, 9),
            ("class_method", "shop.Put.put", 9, 9),
            ("class", "Kind", 11, 11),
            ("function", "load", 12, 12),
            ("function", "shout", 13, 13),
        ],
    ),
    "c": (
        """\
        struct shelf { int n; };
        typedef enum kind { A, B } kind;
        struct shelf declared;
        static int put(struct shelf *s, int x)
        {
            return x;
        }
        char **names(void) { return 0; }
        int only_declared(int x);
        """,
        [
            ("class", "shelf", 1, 1),
            ("class", "kind", 2, 2),
            ("function", "put", 4, 7),
            ("function", "names", 8, 8),
        ],
    ),
    "cpp": (
        """\
        namespace shop {
        template <typename T>
        class Shelf : public Base {
         public:
          Shelf() {}
          ~Shelf() {}
          T &at(int n) { return items[n]; }
          bool operator==(const Shelf &o) const { return true; }
        };
        }
        template <typename T>
        void shop::Shelf<T>::put(T x) {}
        int *find(int n) { return 0; }
        """,
        [
            ("class", "shop.Shelf", 2, 9),
            ("class_method", "shop.Shelf.Shelf", 5, 5),
            ("class_method", "shop.Shelf.~Shelf", 6, 6),
            ("class_method", "shop.Shelf.at", 7, 7),
            ("class_method", "shop.Shelf.operator==", 8, 8),
            ("class_method", "shop.Shelf.put", 11, 12),
            ("function", "find", 13, 13),
        ],
    ),
}


@pytest.mark.parametrize("language", CASES)
def test_definitions_of(language):
    text, expected = CASES[language]
    assert definitions(language, dedent(text)) == expected


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("b.PYI", "python"),
        ("x.tsx", "tsx"),
        ("x.d.ts", "typescript"),
        ("x.h", "c"),
        ("x.hpp", "cpp"),
        ("Makefile", None),
        ("py", None),
        (".py", None),
    ],
)
def test_the_suffix_says_the_language(path, language):
    assert languages.language_of(path) == language


def test_every_language_has_its_grammar_here():
    assert {language for language in CASES if not languages.edition(language)} == set()
