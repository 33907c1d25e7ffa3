"""What Java, Go, Rust, C and C++ define: a source of each, and kind, name, first and last line of what is in it."""

DEFINITIONS = {
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
            ("class_method", "Marked.value", 11, 11),
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
        [
            ("class", "Shelf", 3, 5),
            ("class", "Putter", 6, 6),
            ("class_method", "Putter.Put", 6, 6),
            ("class_method", "Shelf.Put", 7, 7),
            ("class_method", "Shelf.Len", 8, 8),
            ("class_method", "Map.Get", 9, 9),
            ("function", "New", 10, 10),
            ("class", "Kind", 12, 12),
            ("class", "Pair", 14, 16),
            ("class", "Same", 17, 17),
            ("class", "Other", 19, 19),
            ("function", "Sort", 20, 20),
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
        impl fmt::Display for shop::Shelf<u8> { fn show(&self) {} }
        impl<'a> Put for &'a mut shop::Shelf<T> { fn put(&mut self) {} }
        impl Put for Box<dyn Kind> { fn boxed(&self) {} }
        impl dyn Kind { fn is(&self) {} }
        impl Put for u32 { fn small(&self) {} }
        impl Put for [u8; 4] { fn four(&self) {} }
        type Shelves = Vec<Shelf>;
        extern "C" { fn outside(n: i32); }
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
            ("class_method", "Shelf.show", 14, 14),
            ("class_method", "Shelf.put", 15, 15),
            ("class_method", "Box.boxed", 16, 16),
            ("class_method", "Kind.is", 17, 17),
            ("class_method", "u32.small", 18, 18),
            ("class_method", "four", 19, 19),
            ("class", "Shelves", 20, 20),
            ("function", "outside", 21, 21),
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
        [
            ("class", "shelf", 1, 1),
            ("class", "kind", 2, 2),
            ("function", "put", 4, 7),
            ("function", "names", 8, 8),
            ("function", "only_declared", 9, 9),
            ("function", "also_declared", 11, 11),
            ("function", "second", 11, 11),
            ("class", "unnamed", 13, 13),
            ("class", "node_t", 14, 14),
            ("class", "node_p", 14, 14),
            ("class", "node", 14, 14),
            ("function", "guarded", 15, 15),
            ("function", "far", 16, 16),
            ("function", "TWICE", 18, 19),
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
        [
            ("class", "shop.Shelf", 2, 9),
            ("class_method", "shop.Shelf.Shelf", 5, 5),
            ("class_method", "shop.Shelf.~Shelf", 6, 6),
            ("class_method", "shop.Shelf.at", 7, 7),
            ("class_method", "shop.Shelf.operator==", 8, 8),
            ("class_method", "shop.Shelf.put", 11, 12),
            ("function", "find", 13, 13),
            ("class", "Size", 14, 23),
            ("class_method", "Size.Size", 15, 15),
            ("class_method", "Size.of", 16, 16),
            ("class_method", "Size.largest", 17, 17),
            ("class_method", "Size.operator bool", 18, 18),
            ("class_method", "Size.operator const char *", 19, 19),
            ("class_method", "Size.operator()", 20, 20),
            ("class_method", "Size.as", 21, 21),
            ("class_method", "shop.Size.operator std::string", 24, 24),
            ("class_method", "shop.Size.operator=", 25, 25),
            ("function", "as", 26, 26),
            ("class", "std.hash", 27, 27),
            ("class_method", "std.hash.operator()", 27, 27),
            ("class", "Size", 28, 28),
            ("class", "Sizes", 29, 29),
            ("function", "plain", 30, 30),
        ],
    ),
}
