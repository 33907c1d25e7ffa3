"""Source texts of each language, and what they define: names by construct, with first and last line."""

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
        {
            "class": (
                "Shelf 1-6, Other 11, Named 11, Same 12, Anonymous 12, Kind 14, "
                "Kind.Deep 14, Pair 16"
            ),
            "class_method": (
                "Shelf.put 2, Shelf.constructor 3, Shelf.all 4, Shelf.#size 5, "
                "Shelf.take 9, Named.go 11, Anonymous.go 12, Kind.Deep.in quotes 14"
            ),
            "function": (
                "load 7, load.inner 7, twice 8, once 8, drop 10, sort 13, later 15, "
                "brief 16, quoted 16, [computed] 16"
            ),
        },
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
        {
            "class": (
                "Store.Item 2, Store.Shelf 3-7, Kind 9, Sizes 13, Box 14, Till 17, Till.Coin 17"
            ),
            "class_method": (
                "Store.Item.price 2, Store.Shelf.price 4, Store.Shelf.take 5, "
                "Store.Shelf.put 6, Sizes.of 13, Box.open 14"
            ),
            "function": "over 10, over 11, make 12, sort 15, shop.sell 16",
        },
    ),
    "tsx": (
        """\
        export function Page({ id }: Props) {
          return <div onClick={() => id}>x</div>;
        }
        """,
        {
            "function": "Page 1-3",
        },
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
        @interface Marked { int value() default 1; }
        """,
        {
            "class": "Shelf 2-10, Shelf.Kind 7, Shelf.Put 8, Shelf.Pair 9, Marked 11",
            "class_method": (
                "Shelf.Shelf 4, Shelf.all 5-6, Shelf.Kind.code 7, Shelf.Put.put 8, "
                "Shelf.Pair.Pair 9, Marked.value 11"
            ),
        },
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
        type (
            Kind int
            // Pair says which.
            Pair[K, V any] struct {
                key K
            }
            Same = Shelf
        )
        type Other = Shelf
        var Sort = func(s Shelf) {}
        """,
        {
            "class": "Shelf 3-5, Putter 6, Kind 12, Pair 14-16, Same 17, Other 19",
            "class_method": "Putter.Put 6, Shelf.Put 7, Shelf.Len 8, Map.Get 9",
            "function": "New 10, Sort 20",
        },
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
        impl fmt::Display for shop::Shelf<u8> { fn show(&self) {} }
        impl<'a> Put for &'a mut shop::Shelf<T> { fn put(&mut self) {} }
        impl Put for Box<dyn Kind> { fn boxed(&self) {} }
        impl dyn Kind { fn is(&self) {} }
        impl Put for u32 { fn small(&self) {} }
        impl Put for [u8; 4] { fn four(&self) {} }
        type Shelves = Vec<Shelf>;
        extern "C" { fn outside(n: i32); }
        """,
        {
            "class": "shop.Shelf 2, shop.Put 9, Kind 11, Shelves 20",
            "class_method": (
                "shop.Shelf.new 4, shop.Shelf.fmt 7, shop.Put.put 9, Shelf.show 14, "
                "Shelf.put 15, Box.boxed 16, Kind.is 17, u32.small 18, four 19"
            ),
            "function": "shop.Shelf.fmt.inner 7, load 12, shout 13, outside 21",
        },
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
        #ifdef MORE
        extern char *also_declared(void), second(int);
        #endif
        typedef struct { int n; } unnamed;
        typedef struct node { struct node *next; } node_t, *node_p;
        int (guarded)(int x) { int local(int); return local(x); }
        char ***far(void) { return 0; }
        int (*pointer)(int);
        #define TWICE(x) \\
            (2 * (x))
        """,
        {
            "class": "shelf 1, kind 2, unnamed 13, node_t 14, node_p 14, node 14",
            "function": (
                "put 4-7, names 8, only_declared 9, also_declared 11, second 11, "
                "guarded 15, far 16, TWICE 18-19"
            ),
        },
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
        struct Size {
          Size();
          virtual int of(int n) const = 0;
          static Size &largest();
          operator bool() const { return true; }
          explicit operator const char *() const;
          void operator()(int n);
          template <typename T> T as() const;
          int (*pointer)(int);
        };
        shop::Size::operator std::string() const { return ""; }
        shop::Size &shop::Size::operator=(const Size &o) { return *this; }
        template <> void as<int>() {}
        template <> struct std::hash<Size> { int operator()(Size s) const; };
        template <typename T> struct Size<T *> {};
        using Sizes = Shelf<Size>;
        extern "C" { int plain(void); }
        """,
        {
            "class": "shop.Shelf 2-9, Size 14-23, std.hash 27, Size 28, Sizes 29",
            "class_method": (
                "shop.Shelf.Shelf 5, shop.Shelf.~Shelf 6, shop.Shelf.at 7, "
                "shop.Shelf.operator== 8, shop.Shelf.put 11-12, Size.Size 15, Size.of 16, "
                "Size.largest 17, Size.operator bool 18, Size.operator const char * 19, "
                "Size.operator() 20, Size.as 21, shop.Size.operator std::string 24, "
                "shop.Size.operator= 25, std.hash.operator() 27"
            ),
            "function": "find 13, as 26, plain 30",
        },
    ),
}
